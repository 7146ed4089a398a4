"""Constructors as a program of somebody calls them: what they take, and how they refuse what they can't have.

Bad arguments are made from the types of each component's arguments, so that a new key is tested as soon as it is there.
"""

import inspect
import runpy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, is_typeddict
from unittest.mock import Mock

import pulumi
import pytest

import azure_gpu
from azure_gpu import testing
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.validation import below, check, choices, form, is_map, key_hints
from azure_gpu.stack.component_reference import EXAMPLES, found
from tests.components import recording
from tests.components.answering import clusters_that_answer
from tests.components.recording import KEYS, KUBECONFIG, SUBSCRIPTION, Recorded, Registration, declare
from tests.components.settings_of import TODAY

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/shared/providers"
PARTS = {
    "resource_group_name": "mine",
    "identity_id": f"{GROUP}/Microsoft.ManagedIdentity/userAssignedIdentities/speaker",
    "registry_id": f"{GROUP}/Microsoft.ContainerRegistry/registries/images",
    "storage_account_id": f"{GROUP}/Microsoft.Storage/storageAccounts/data",
    "log_workspace_id": f"{GROUP}/Microsoft.OperationalInsights/workspaces/logs",
}
END = {"expires_after": "2099-03-31"}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHXXeRHIIAXVT6HGEJYUc3xq3F8F9fTuFQ4jAJGjD5FY me"
# Arguments that each component takes, with nothing that could be left out but what it stands in.
GOOD: dict[str, dict[str, Any]] = {
    "BatchAccount": PARTS,
    "BatchPool": {
        **PARTS,
        **END,
        "batch_account": f"{GROUP}/Microsoft.Batch/batchAccounts/pools",
        "size": "Standard_NC4as_T4_v3",
    },
    "Budget": {"resource_group_name": "mine", "monthly_usd": 500},
    "ContainerGroup": {**PARTS, "image": "python:3.11"},
    "EdgeSharing": {"namespace": "jobs", "kubeconfig": KUBECONFIG.replace("auth-provider: {name: azure}", "token: none")},
    "Foundation": {"location": "westeurope", "identity": "create"},
    "GalleryImage": {"resource_group_name": "mine", "location": "westeurope"},
    "GpuCluster": {**PARTS, **END, "gpu_pools": {"t4": {"size": "Standard_NC4as_T4_v3", "max_nodes": 2}}},
    "GpuVm": {**PARTS, **END, "size": "Standard_NC4as_T4_v3", "admin": {"ssh_public_key": KEY}},
    "JobEnvironment": {**PARTS, "gpus": ["T4"]},
    "MlEndpoint": {
        **PARTS,
        **END,
        "workspace": f"{GROUP}/Microsoft.MachineLearningServices/workspaces/models",
        "deployments": {"blue": {"model": f"{GROUP}/x/models/digits/versions/1", "instance_type": "Standard_NC4as_T4_v3"}},
    },
    "MlWorkspace": PARTS,
    "ServerlessGpuJob": {**PARTS, **END, "job_environment": f"{GROUP}/Microsoft.App/managedEnvironments/jobs"},
}
LOOK_UPS: dict[str, Any] = {
    **testing.ANSWERS,
    **KEYS,
    "azure-native:authorization:getClientConfig": {
        "objectId": "99999999-8888-7777-6666-555555555555",
        "clientId": "",
        "subscriptionId": SUBSCRIPTION,
        "tenantId": "",
    },
}
OUTPUT = pulumi.Output.from_input("an output")
NAMED_BY_THE_PROVIDER = "named-by-the-provider"


class Bad(NamedTuple):
    """Arguments with one thing wrong."""

    why: str
    args: dict[str, Any]
    path: str  # where that is, below the component


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_component_is_declared_from_what_it_needs_by_keywords_or_as_one_object(name: str) -> None:
    component = getattr(azure_gpu, name)

    def build() -> None:
        component("mine", **GOOD[name])
        component("yours", GOOD[name])

    recorded = program(build)
    declared = recorded.of_type(f"azuregpu:index:{name}")
    assert [each.name for each in declared] == ["mine", "yours"]
    for each in declared:
        assert set(recorded.outputs[each.urn]) <= set(component.__annotations__)
    in_azure = Counter(place for each in recorded.registrations if (place := place_in_azure(each)))
    assert [place for place, times in in_azure.items() if times > 1] == []


@pytest.mark.parametrize("name", sorted(GOOD))
def test_help_shows_every_key_with_its_meaning(name: str) -> None:
    component = getattr(azure_gpu, name)
    text = inspect.getdoc(component) or ""
    assert text.splitlines()[0] == inspect.cleandoc(vars(component)["__doc__"]).splitlines()[0]
    required = component.args_type.__required_keys__
    assert [
        key for key in key_hints(component.args_type) if f"\n{key}{' (required)' * (key in required)}\n    " not in text
    ] == []


def test_a_class_that_a_program_derives_from_a_component_is_still_that_component() -> None:
    class Mine(azure_gpu.Budget):
        more: str

    recorded = program(lambda: Mine("mine", **GOOD["Budget"]))
    [declared] = recorded.of_type("azuregpu:index:Budget")
    assert set(recorded.outputs[declared.urn]) == {"budget_id", "budget_name"}


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_unit_test_with_the_mocks_of_pulumi_declares_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_Callbacks", lambda _: None)  # those have no server for hooks
    recorded = program(lambda: getattr(azure_gpu, name)("mine", **GOOD[name]))
    assert [each.name for each in recorded.of_type(f"azuregpu:index:{name}")] == ["mine"]


def place_in_azure(resource: Registration) -> tuple[str, ...]:
    """What no two resources of a stack have in common; empty where the provider makes the name up, or Kubernetes has it."""
    given = {key: str(value) for key, value in resource.inputs.items()}
    names = [key for key in given if key.lower().endswith("name") and key != "resourceGroupName"]
    if not resource.type.startswith("azure-native:") or not names or NAMED_BY_THE_PROVIDER in given.values():
        return ()
    return (resource.type, *(f"{key}: {value}" for key, value in given.items() if key in (*names, "resourceUri")))


@pytest.mark.parametrize(
    ("name", "more"),
    [
        (
            "ContainerGroup",
            {"image": OUTPUT, "location": OUTPUT, "tags": {"a": OUTPUT}, "group_name": OUTPUT, "subnet_id": OUTPUT},
        ),
        ("ServerlessGpuJob", {"image": OUTPUT, "tags": {"a": OUTPUT}, "environment": {"A": OUTPUT}, "job_name": OUTPUT}),
        ("GpuVm", {"vm_name": OUTPUT, "location": OUTPUT, "tags": {"a": OUTPUT}, "subnet_id": OUTPUT}),
        ("GpuCluster", {"cluster_name": OUTPUT, "device_plugin": {"image": OUTPUT}, "metrics": {"image": OUTPUT}}),
        ("MlWorkspace", {"workspace_name": OUTPUT, "environments": {"train": {"version": "1", "image": OUTPUT}}}),
    ],
)
def test_an_output_flows_where_it_decides_nothing(name: str, more: dict[str, Any]) -> None:
    recorded = program(lambda: getattr(azure_gpu, name)("mine", {**GOOD[name], **more}))
    wanted = sum(len(value) if isinstance(value, dict) and key != "environments" else 1 for key, value in more.items())
    assert str([each.inputs for each in recorded.registrations]).count("'an output'") >= wanted


@pytest.mark.parametrize("name", sorted(GOOD))
def test_every_bad_argument_is_refused_at_its_place_before_anything_is_declared(name: str) -> None:
    """Every one by the types of the arguments, and the first of each kind by the component."""
    component = getattr(azure_gpu, name)
    expected, this = component.args_type, f'{name}("mine")'
    every = list(bad_arguments(expected, alone(GOOD[name])))
    firsts = {bad.why: bad for bad in reversed(every)}
    assert firsts.keys() >= {"unknown key", "wrong type", "output where the value decides"}
    told = [(bad, [problem.path for problem in check(bad.args, expected, this).problems]) for bad in every]

    def build() -> None:
        told.extend((bad, refused(lambda bad=bad: component("mine", bad.args))) for bad in firsts.values())

    assert program(build).registrations == []
    assert [f"{bad.why} at {bad.path}: {paths}" for bad, paths in told if not tells(paths, f"{this}.{bad.path}")] == []


def tells(paths: list[str], at: str) -> bool:
    """Whether one of the paths is this one or below it."""
    return any(path == at or path.startswith((f"{at}.", f"{at}[")) for path in paths)


# Problems that a stack file and a program solve in different ways: arguments beside the good ones, and what is told of them.
IN_A_PROGRAM: list[tuple[str, dict[str, Any], str, str]] = [
    ("Foundation", {"tags": {"team": "x"}}, "tags.team", "choose another key"),
    ("Foundation", {"as_of": "yesterday"}, "as_of", "not a valid date"),
    ("Foundation", {"registry": "create", "workloads": ["vector_add"]}, "image_source", "add image_source: https://"),
    ("BatchPool", {"gallery_image": "trained"}, "gallery_image", "fix: pass the component"),
    ("BatchPool", {"mounts": {"data": {"azure_blob": {"container": "data"}}}}, "mounts.data.azure_blob", "add identity_id or"),
    ("EdgeSharing", {"kubeconfig_file": "none"}, "kubeconfig", "fix: remove one of the two"),
    (
        "GpuCluster",
        {"kubernetes_version": "1.35", "maintenance": {"upgrades": "rapid"}},
        "maintenance.upgrades",
        "upgrades beyond `kubernetes_version`",
    ),
    ("GpuVm", {"admin": {"password": "Password1"}, "os_type": "Windows"}, "admin.password", "pulumi.Config().require_secret("),
    ("MlWorkspace", {"computes": {"on": {"cluster": "shared"}}}, "computes.on.cluster", "allowed: a GpuCluster, or the ARM id"),
    ("MlWorkspace", {"computes": {"on": {"vm": "trainer", "private_key": "x"}}}, "computes.on.vm", "allowed: a GpuVm; fix: give"),
    ("MlEndpoint", {"identity": "stack"}, "identity", "add identity_id or foundation, or write identity: system"),
    ("ContainerGroup", {"team": "-"}, "team", "set another, or remove it"),
]


def test_what_is_wrong_is_told_to_a_program_in_its_own_words() -> None:
    told: list[list[str]] = []

    def build() -> None:
        for name, more, _, _ in IN_A_PROGRAM:
            with pytest.raises(Refused) as refusal:
                getattr(azure_gpu, name)("mine", {**alone(GOOD[name]), **more})
            told.append([str(problem) for problem in refusal.value.problems])

    assert program(build).registrations == []
    for (name, _, path, part), lines in zip(IN_A_PROGRAM, told, strict=True):
        assert [line for line in lines if not line.startswith(f'{name}("mine")')] == []
        [line] = [line for line in lines if line.startswith(f'{name}("mine").{path}: ')]
        assert part in line
        assert "stack file" not in line
        assert "config set" not in line


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_the_example_of_a_page_declares_its_component(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi.Config, "require_secret", lambda *_: pulumi.Output.secret(KUBECONFIG))
    # Its end date is that of a page, which is checked before it.
    monkeypatch.setattr("azure_gpu.shared.program.datetime", Mock(now=lambda _: datetime.fromisoformat(TODAY)))
    recorded = program(lambda: runpy.run_path(str(file)))
    kind = "".join(word.capitalize() for word in file.stem.split("_"))
    assert len(recorded.of_type(f"azuregpu:index:{kind}")) == 1
    assert recorded.exports


def of_page(page: str, after: str, file: Path, *, preview: bool = False) -> Recorded:
    """Runs the first program of a page after this text."""
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8").partition(after)[2]
    file.write_text(text.partition("```python\n")[2].partition("```")[0])
    with clusters_that_answer():
        return declare(lambda: runpy.run_path(str(file)), preview=preview, lookups=LOOK_UPS)


def test_the_program_of_the_readme_declares_a_cluster_and_what_it_puts_into_it(tmp_path: Path) -> None:
    recorded = of_page("README.md", "## In your own Pulumi program", tmp_path / "program.py")
    assert recorded.named("gpu-pool-t4").inputs["maxCount"] == 2
    assert recorded.named("research").provider.startswith(recorded.named("inside").urn)


def test_a_program_whose_region_is_that_of_a_group_that_it_creates_has_no_price_yet(tmp_path: Path) -> None:
    recorded = of_page("components/README.md", "# azure-gpu", tmp_path / "program.py", preview=True)
    assert recorded.named("gpu-pool-t4").inputs["maxCount"] == 2
    what = "no price of Standard_D4s_v5 in a region that isn't known yet, without disks and addresses"
    assert [each for each in recorded.log if "cost" in each] == [f"cost while idle: not known: {what}"]


def test_every_component_has_an_example() -> None:
    assert {each.page for each in found()} == {f"{file.stem}.md" for file in EXAMPLES.glob("*.py")}


def alone(good: Mapping[str, Any]) -> dict[str, Any]:
    """Without the parts that would be looked up."""
    return {key: value for key, value in good.items() if key == "resource_group_name" or key not in PARTS}


def refused(build: Callable[[], object]) -> list[str]:
    """The paths of the problems with which it is refused."""
    with pytest.raises(Refused, match="nothing of it was declared") as refusal:
        build()
    return [problem.path for problem in refusal.value.problems]


def program(build: Callable[[], object]) -> Recorded:
    with clusters_that_answer():
        return declare(build, lookups=LOOK_UPS)


def bad_arguments(annotation: Any, good: Mapping[str, Any]) -> Iterator[Bad]:
    """What is wrong with one argument each, of the keys that `good` has and all others."""
    for steps, wanted in places(annotation, ()):
        for why, value in bad_values(wanted):
            yield Bad(why, put(good, steps, value), written(steps))
    yield Bad("unknown key", {**good, "no_such_key": 1}, "no_such_key")
    for key in sorted(annotation.__required_keys__):
        yield Bad("missing key", {name: each for name, each in good.items() if name != key}, key)


def bad_values(wanted: Any) -> Iterator[tuple[str, object]]:
    kind = form(wanted)
    if kind is Any:
        return
    yield "wrong type", "a text" if kind in (int, float, bool) else 3.5
    if check(OUTPUT, wanted, "").problems:
        yield "output where the value decides", OUTPUT
    if choices(kind):
        yield "wrong choice", "no such choice"
    if is_typeddict(kind):
        yield "unknown key", {"no_such_key": 1}


Steps = tuple[str | int, ...]


def places(annotation: Any, steps: Steps) -> Iterator[tuple[Steps, Any]]:
    """Every key of the arguments at any depth, with what is annotated there; below a map or a list, one entry."""
    kind = form(annotation)
    if steps:
        yield steps, annotation
    if is_typeddict(kind):
        for key, hint in key_hints(kind).items():
            yield from places(hint, (*steps, key))
    elif is_map(annotation):
        yield from places(below(annotation, "entry"), (*steps, "entry"))
    elif get_origin(kind) is Sequence:
        yield from places(get_args(kind)[0], (*steps, 0))


def put(args: Mapping[str, Any], steps: Steps, value: object) -> dict[str, Any]:
    """The arguments with `value` at a place. What is around it is made where it isn't there."""
    inner: Any = value
    for step in reversed(steps[1:]):
        inner = [inner] if step == 0 else {step: inner}
    return {**args, str(steps[0]): inner}


def written(steps: Steps) -> str:
    text = ""
    for step in steps:
        text += "[0]" if step == 0 else f".{step}" if text else str(step)
    return text


@pytest.mark.parametrize("name", GOOD)
def test_a_provider_that_nobody_is_logged_in_with_is_told_in_one_line(name: str) -> None:
    failing = {**LOOK_UPS, "azure-native:authorization:getClientConfig": "please run az login to set up an account"}
    with pytest.raises(Refused) as refused:
        declare(lambda: getattr(azure_gpu, name)("x", **GOOD[name]), lookups=failing)
    [problem] = refused.value.problems
    assert str(problem).startswith(f"{name}(\"x\"): the provider's subscription can't be read: ")
    assert "please run az login to set up an account" in problem.message
    assert problem.fix.startswith("`az login`")
