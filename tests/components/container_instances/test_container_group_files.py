"""A container group whose settings stand in a file: what the file says, what the stack file says over it, and what is missing."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Problem, Severity, errors
from azure_gpu.container_instances.args import ContainerGroupSettings, ContainerGroupWiring
from azure_gpu.container_instances.file import merged
from azure_gpu.container_instances.group import ContainerGroup
from azure_gpu.container_instances.resolve import resolve
from azure_gpu.container_instances.spec import ContainerGroupSpec
from azure_gpu.shared.context import Context, resolve_stack
from azure_gpu.shared.validation import check, key_docstrings
from azure_gpu.shared.wired import Wired
from azure_gpu.stack.settings import read
from tests.components.recording import PROJECT, STACK, declare
from tests.components.settings_of import STACK_ARGS, TODAY, all_problems, args_of, configuration, encrypted
from tests.support.container_group_files import GPU_YAML

GROUP = "azure-native:containerinstance:ContainerGroup"
EVERYTHING = """
apiVersion: '2021-10-01'
name: web
location: westeurope
tags: {owner: someone}
properties:
  initContainers:
  - name: z-first
    properties: {image: 'alpine:3.20'}
  - name: a-second
    properties: {image: 'alpine:3.20'}
  containers:
  - name: server
    properties:
      image: nginx:1.27
      ports: [{port: 443}]
      environmentVariables: [{name: PLAIN, value: a}, {name: TOKEN, secureValue: hunter2}]
      resources: {requests: {cpu: 2, memoryInGB: 4}}
      volumeMounts: [{name: certificates, mountPath: /etc/certificates}, {name: share, mountPath: /data}]
  - name: sidecar
    properties:
      image: ghcr.io/someone/sidecar:1
      resources: {requests: {cpu: 1, memoryInGB: 1}}
  volumes:
  - name: certificates
    secret: {tls.key: aHVudGVyMg==}
  - name: share
    azureFile: {shareName: data, storageAccountName: someonesdata, storageAccountKey: hunter2}
  imageRegistryCredentials:
  - {server: ghcr.io, username: someone, password: hunter2}
  ipAddress: {type: Public, ports: [{port: 443}], dnsNameLabel: front-end}
  osType: Linux
"""
SECRETS: ContainerGroupSettings = {
    "containers": {"server": {"secret_environment": {"TOKEN": "one"}}},
    "volumes": {"certificates": {"secret": {"tls.key": "two"}}, "share": {"azure_file": {"key": "three"}}},
    "registries": [{"password": "four"}],
}
TEMPLATE = """{
  "$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
  "contentVersion": "1.0.0.0",
  "parameters": {"name": {"type": "string"}, "cpu": {"type": "int", "defaultValue": 1}},
  "resources": [{
    "type": "Microsoft.ContainerInstance/containerGroups",
    "apiVersion": "2018-10-01",
    "name": "[parameters('name')]",
    "location": "[resourceGroup().location]",
    "properties": {
      "osType": "Linux",
      "containers": [{"name": "one", "properties": {
        "image": "python:3.11", "resources": {"requests": {"cpu": "[parameters('cpu')]", "memoryInGB": 2}}}}]
    }
  }]
}"""
BEFORE_THE_END: dict[str, Any] = {"as_of": "2019-06-01", "expires_after": "2019-06-30", "location": "eastus"}


def context() -> Context:
    return resolve_stack(STACK_ARGS, PROJECT, STACK)[0]


def resolved(text: str, **own: Any) -> tuple[ContainerGroupSpec, list[Problem]]:
    """The group of a stack file that names the file `group.yaml` with this text, and says `own` beside it."""

    def reader(file: str) -> str:
        assert file == "group.yaml"
        return text

    return resolve("train", args_of(ContainerGroupSettings, {"file": "group.yaml"}, own), context(), reader)


def test_the_documents_file_is_the_whole_group_but_for_its_last_day() -> None:
    spec, problems = resolved(GPU_YAML, as_of="2019-06-01", location="eastus")
    assert [problem.path for problem in errors(problems)] == ["container_groups.train.expires_after"]
    assert spec.group_name == "gpucontainergroup"
    [container] = spec.containers
    assert container.name == "gpucontainer"
    assert container.settings.get("image") == "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1"
    assert (container.cpu, container.memory_in_gb) == (1.0, 1.5)
    assert spec.gpu is not None
    assert (spec.gpu.count, spec.gpu.sku) == (1, "K80")
    assert spec.restart_policy == "OnFailure"


def test_keys_beside_the_file_override_what_it_says_one_by_one() -> None:
    spec, problems = resolved(GPU_YAML, cpu=4, workload="vector_add", group_name="mine", **BEFORE_THE_END)
    assert errors(problems) == []
    [container] = spec.containers
    assert (container.cpu, container.memory_in_gb) == (4, 1.5)
    assert container.workload == "vector_add"
    assert container.image is None
    assert spec.group_name == "mine"


def test_a_secret_of_the_file_has_to_be_given_beside_it_and_is_never_shown() -> None:
    _, problems = resolved(EVERYTHING)
    paths = [problem.path for problem in errors(problems)]
    assert paths == [
        "container_groups.train.containers.server.secret_environment.TOKEN",
        'container_groups.train.volumes.certificates.secret["tls.key"]',
        "container_groups.train.volumes.share.azure_file.key",
        "container_groups.train.registries[0].password",
    ]
    assert all(f"pulumi config set --secret --path '{problem.path}'" in str(problem) for problem in errors(problems))
    assert "hunter2" not in str(problems)
    assert "aHVudGVyMg" not in str(problems)


def test_a_missing_secret_hides_nothing_else_that_is_missing() -> None:
    text = GPU_YAML.replace("image: k8s", "environmentVariables: [{name: TOKEN, secureValue: hunter2}]\n      image: k8s")
    _, problems = resolved(text, as_of="2019-06-01", location="eastus")
    assert sorted(problem.path for problem in errors(problems)) == [
        "container_groups.train.expires_after",
        "container_groups.train.secret_environment.TOKEN",
    ]


def test_secrets_beside_the_file_complete_it() -> None:
    spec, problems = resolved(EVERYTHING, **SECRETS)
    assert errors(problems) == []
    assert spec.settings.get("registries") == [{"server": "ghcr.io", "username": "someone", "password": "four"}]
    assert spec.settings.get("volumes", {})["share"] == {
        "azure_file": {"share": "data", "account": "someonesdata", "key": "three"}
    }
    assert spec.containers[0].environment == {"PLAIN": "a"}
    assert [container.name for container in spec.containers] == ["server", "sidecar"]


def test_init_containers_of_a_file_keep_its_order() -> None:
    spec, _ = resolved(EVERYTHING, **SECRETS)
    assert [container.name for container in spec.init_containers] == ["z-first", "a-second"]


def test_a_group_of_a_file_keeps_the_name_that_it_has_on_the_internet() -> None:
    # Unsecure is what Azure does where a body has no autoGeneratedDomainNameLabelScope; anything else puts a hash into the name.
    assert resolved(EVERYTHING, **SECRETS)[0].network.dns_label_scope == "Unsecure"
    assert resolved(EVERYTHING, **{**SECRETS, "dns_label_scope": "Noreuse"})[0].network.dns_label_scope == "Noreuse"


def test_a_value_of_the_file_that_cannot_be_had_says_where_it_comes_from() -> None:
    _, problems = resolved(GPU_YAML, expires_after="2026-12-31")
    [retired] = errors(problems)
    assert retired.path == "container_groups.train.gpu.sku"
    assert "the value is set in group.yaml" in retired.message
    _, problems = resolved(GPU_YAML, expires_after="2026-12-31", gpu={"count": 1, "sku": "V100"})
    assert "group.yaml" not in errors(problems)[0].message


def test_what_is_not_taken_over_is_a_warning_with_its_line() -> None:
    limits = "          gpu:\n            count: 1\n            sku: K80\n"
    with_limits = GPU_YAML.replace(limits, f"{limits}        limits: {{cpu: 2}}\n")
    _, problems = resolved(with_limits, **BEFORE_THE_END)
    assert errors(problems) == []
    line = with_limits.splitlines().index("        limits: {cpu: 2}") + 1
    assert [problem.path.split(" ")[0] for problem in problems if "limits" in problem.path] == [f"group.yaml:{line}:"]
    assert all(problem.severity is Severity.WARNING for problem in problems)


def test_a_template_takes_its_parameters_from_the_stack_file() -> None:
    spec, problems = resolved(TEMPLATE, file_parameters={"name": "from-a-template", "cpu": 3})
    assert errors(problems) == []
    assert spec.group_name == "from-a-template"
    assert spec.containers[0].cpu == 3
    assert spec.location == "westeurope"  # the stack's
    _, problems = resolved(TEMPLATE)
    assert any("name" in problem.message or "name" in problem.path for problem in errors(problems))


@pytest.mark.parametrize(
    ("text", "said"),
    [("services: {}", "Docker Compose"), ("- a", "not a container group"), ("a: [", ""), ("", "")],
    ids=["compose", "list", "broken", "empty"],
)
def test_a_file_that_is_no_container_group_is_told_alone(text: str, said: str) -> None:
    _, problems = resolved(text)
    assert errors(problems)
    assert any(said in problem.message for problem in problems)
    assert all(problem.path.startswith("group.yaml") for problem in problems)  # nothing about an image that is missing


def test_a_file_that_is_not_there_or_is_no_text_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xfa")
    for file, reason in (("none.yaml", "No such file"), ("binary", "isn't UTF-8"), (".", "not a regular file"), ("a\0b", "null")):
        _, [problem] = resolve("train", {"file": str(tmp_path / file)}, context())
        assert problem.path == "container_groups.train.file"
        assert f"can't be read: {reason}" in problem.message or reason in problem.message
        assert problem.fix


def test_a_file_with_several_groups_needs_the_name_of_one() -> None:
    resource = TEMPLATE.split('"resources": [')[1].rsplit("]", 1)[0].strip()
    named = [resource.replace("[parameters('name')]", name) for name in ("one", "two")]
    text = f'{TEMPLATE.split(chr(34) + "resources")[0]}"resources": [{", ".join(named)}]}}'
    parameters = {"name": "unused"}
    _, problems = resolved(text, file_parameters=parameters)
    [problem] = [problem for problem in errors(problems) if problem.path == "container_groups.train.file"]
    assert "found 2" in problem.message
    assert problem.allowed == "one, two"
    spec, problems = resolved(text, file_parameters=parameters, group_name="two")
    assert errors(problems) == []
    assert spec.group_name == "two"


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_a_group_of_a_file_is_declared_with_its_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preview: bool) -> None:
    (tmp_path / "web.yaml").write_text(EVERYTHING)
    monkeypatch.chdir(tmp_path)  # the engine runs the program in the project's folder
    args: ContainerGroupWiring = {**SECRETS, "file": "web.yaml", "stack": STACK_ARGS, "resource_group_name": "group"}
    inputs = declare(lambda: ContainerGroup("train", Wired(args)), preview=preview).one(GROUP).inputs
    assert inputs["containerGroupName"] == "web"
    assert inputs["tags"]["owner"] == "someone"
    assert [container["name"] for container in inputs["initContainers"]] == ["z-first", "a-second"]
    assert inputs["containers"][0]["environmentVariables"][1] == {"name": "TOKEN", "secureValue": "one"}
    assert inputs["ipAddress"]["dnsNameLabel"] == "front-end"


def test_a_stack_file_may_say_a_secret_of_the_file_alone() -> None:
    group = {"file": "web.yaml", "registries": [{"password": "a"}], "volumes": {"share": {"azure_file": {"key": "b"}}}}
    said = {"container_groups": {"train": group}}
    settings = read(configuration(said), TODAY, encrypted(said))
    assert settings.problems == []
    assert [problem.path for problem in all_problems(settings, PROJECT, STACK)] == ["container_groups.train.file"]


def test_what_the_stack_file_says_takes_the_place_of_what_excludes_it() -> None:
    below = {"image": "a", "liveness": {"http": {"port": 1}, "period_seconds": 5}, "volumes": {"x": {"empty_dir": True}}}
    above = {"workload": "mnist", "liveness": {"command": ["check"]}, "volumes": {"x": {"secret": {"key": "b"}}}}
    assert merged(below, above) == {
        "workload": "mnist",
        "liveness": {"period_seconds": 5, "command": ["check"]},
        "volumes": {"x": {"secret": {"key": "b"}}},
    }
    assert merged({"ports": [1, 2]}, {"ports": [3]}) == {"ports": [3]}
    assert merged({"image": "a"}, {"cpu": 2}) == {"image": "a", "cpu": 2}


NAMES = st.sampled_from(["one", "two", "A_b", ""])
NUMBERS = st.sampled_from([-1, 0, 1, 2, 80, 70000])
TEXTS = st.sampled_from(["", "python:3.11", "/data", "https://a:b@c/d", "..", "1", "\0"])
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2), max_leaves=4
)


def of(hint: Any) -> st.SearchStrategy[Any]:
    """Values that a setting with this JSON Schema takes, or nearly."""
    match hint:
        case {"anyOf": [first, *_]}:
            return of(first) | ANYTHING
        case {"enum": choices}:
            return st.sampled_from(choices)
        case {"properties": properties}:
            return st.fixed_dictionaries({}, optional={key: of(value) for key, value in properties.items()})
        case {"additionalProperties": value}:
            return st.dictionaries(NAMES, of(value), max_size=2)
        case {"items": items}:
            return st.lists(of(items), max_size=3)
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "string"}:
            return TEXTS
        case {"type": "integer" | "number"}:
            return NUMBERS
        case _:
            return ANYTHING


def settings_strategy() -> st.SearchStrategy[Any]:
    from azure_gpu.shared.validation import schema

    properties: dict[str, Any] = schema(ContainerGroupSettings)["properties"]
    assert properties.keys() == key_docstrings(ContainerGroupSettings).keys()
    return st.fixed_dictionaries({}, optional={key: of(value) for key, value in properties.items()})


@given(said=settings_strategy(), text=st.sampled_from([GPU_YAML, EVERYTHING, TEMPLATE, "a: [", ""]))
def test_no_settings_of_the_right_types_make_resolving_raise(said: dict[str, Any], text: str) -> None:
    usable = check(said, ContainerGroupSettings, "container_groups.train").value
    _, problems = resolve("train", usable, context(), lambda _: text)
    assert all(problem.path and problem.message and str(problem) for problem in problems)
