"""`python -m operations import`: old container-group files as configuration that runs today, and every problem at once."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.catalog.problems import errors
from azure_gpu.formats.stack_file import configuration
from azure_gpu.stack import settings as stack_settings
from azure_gpu_operations.__main__ import main
from tests.components.recording import SUBSCRIPTION
from tests.components.settings_of import pure_problems
from tests.support.container_group_files import (
    EXPORTED_2018,
    FILES,
    GPU_YAML,
    NETWORK_PROFILE_2021,
    SIDECAR_2018,
    SPOT_2023,
    VOLUMES_2019,
    WINDOWS_2020,
)
from tests.support.container_group_templates import GPU_TEMPLATE, PASSWORD, TEMPLATE_2021

TODAY = "2026-11-21"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: Capture, text: str, *arguments: str, file: str = "f.yaml", as_of: str = TODAY) -> tuple[int, str, str]:
    Path(file).write_text(text, encoding="utf-8")
    try:
        code = main(["import", file, "--as-of", as_of, *arguments])
    except SystemExit as ended:  # argparse refuses a command line so
        code = int(str(ended.code))
    output = capsys.readouterr()
    return code, output.out, output.err


def taken(capsys: Capture, text: str, *arguments: str, **more: Any) -> dict[str, Any]:
    code, out, err = run(capsys, text, *arguments, **more)
    assert (code, [line for line in err.splitlines() if not line.startswith("warning: ")]) == (0, [])
    return yaml.safe_load(out)


def test_the_first_documents_yaml_comes_back_as_a_job_that_runs_today(capsys: Capture) -> None:
    code, out, err = run(capsys, GPU_YAML, "--location", "eastus", file="gpu-deploy-aci.yaml")
    assert (code, err) == (0, "")
    assert yaml.safe_load(out) == {
        "azure-gpu:jobs": {
            "gpucontainergroup": {
                "gpu": "T4",
                "image": "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1",
                "cpu": 1,
                "memory_in_gib": 1.5,
                "location": "eastus",
                "expires_after": "2026-11-28",
                "as_of": TODAY,
            }
        }
    }
    told = " ".join(out.replace("#", " ").split())
    assert "gpu-deploy-aci.yaml:13: gpucontainer has 1 K80: retired, sold until 2023-08-31." in told
    assert "Consumption-GPU-NC8as-T4" in told
    assert "Standard_NC4as_T4_v3 (0.526 USD/hour" in told
    assert "the image has CUDA 8.0" in told
    assert "`workload: vector_add`" in told
    assert "azure-gpu:container_groups: gpucontainergroup: Azure refuses this group since 2023-08-31." in told


def test_the_first_documents_template_does_so_too(capsys: Capture) -> None:
    told = taken(capsys, GPU_TEMPLATE, "--location", "eastus", file="gpudeploy.json")
    job = told["azure-gpu:jobs"]["gpucontainergrouprm"]
    assert (job["gpu"], job["image"], job["cpu"], job["memory_in_gib"]) == ("T4", "microsoft/samples-tf-mnist-demo:gpu", 4, 12)
    assert "azure-gpu:container_groups" not in told


def test_at_its_own_day_the_group_is_taken_as_it_was(capsys: Capture) -> None:
    told = taken(capsys, GPU_YAML, "--location", "eastus", as_of="2019-06-01")
    assert told == {
        "azure-gpu:container_groups": {
            "gpucontainergroup": {
                "group_name": "gpucontainergroup",
                "container_name": "gpucontainer",
                "image": "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1",
                "cpu": 1,
                "memory_in_gb": 1.5,
                "gpu": {"count": 1, "sku": "K80"},
                "restart_policy": "OnFailure",
                "expires_after": "2019-06-08",
                "as_of": "2019-06-01",
            }
        }
    }


@pytest.mark.parametrize("file", sorted(FILES))
@pytest.mark.parametrize("as_of", ["2019-06-01", TODAY])
def test_what_is_printed_is_all_that_the_program_needs_once_its_secrets_are_set(capsys: Capture, file: str, as_of: str) -> None:
    code, out, err = run(capsys, FILES[file], "--location", "eastus", file=file, as_of=as_of)
    assert code == 0, err
    assert PASSWORD not in out + err
    config = {
        "azure-native:subscriptionId": SUBSCRIPTION,
        "azure-gpu:team": "t",
        "azure-gpu:location": "eastus",
        **yaml.safe_load(out),
    }
    config["azure-gpu:foundation"] = {"resource_group": "create", "identity": "create"}
    for line in out.splitlines():
        if line.startswith("#   pulumi config set --secret --path "):
            _set(config, shlex.split(line)[6], "aGVsbG8=")
    if file == "profile-2021.yaml":  # of a network profile nobody can say which subnet it is
        config["azure-gpu:container_groups"]["inside"]["subnet_id"] = (
            f"/subscriptions/{SUBSCRIPTION}/resourceGroups/r/x/subnets/s"
        )
    read = stack_settings.read(configuration(yaml.safe_dump({"config": config})), as_of)
    assert errors(pure_problems(read, "azure-gpu", "dev")) == []


def _set(config: dict[str, Any], path: str, value: str) -> None:
    """What `pulumi config set --path` does."""
    project, _, rest = path.partition(".")
    steps = [
        word or quoted or int(index) for word, index, quoted in re.findall(r'([A-Za-z_][\w-]*)|\[(\d+)\]|\["([^"]+)"\]', rest)
    ]
    at: Any = config[project]
    for step in steps[:-1]:
        at = at[step] if isinstance(at, list) else at.setdefault(step, {})
    at[steps[-1]] = value


def test_two_gpus_become_one_with_more_memory(capsys: Capture) -> None:
    told = taken(capsys, TEMPLATE_2021, file="t.json")
    assert told["azure-gpu:jobs"]["night-train"]["gpu"] == "A100"  # 2 P100 have 32 GiB, and a T4 has 16
    assert list(told["azure-gpu:container_groups"]) == ["night-report"]
    _, out, err = run(capsys, TEMPLATE_2021, file="t.json")
    assert "one A100 with 80 GiB where the group had 2 P100 with 32" in " ".join(out.replace("#", " ").split())
    assert "warning: t.json:17: resources[0]: a Microsoft.Storage/storageAccounts isn't taken" in err


def test_a_region_without_the_profile_is_replaced_by_the_nearest_that_has_it(capsys: Capture) -> None:
    told = taken(capsys, EXPORTED_2018)
    assert told["azure-gpu:jobs"]["trainer"]["location"] == "westeurope"  # northeurope has no T4


def test_a_command_for_each_secret_and_no_value(capsys: Capture) -> None:
    code, out, err = run(capsys, VOLUMES_2019, "--stack", "dev", "--config-folder", str(_stack_folder()))
    assert (code, err) == (0, "")
    commands = [line.removeprefix("#   ") for line in out.splitlines() if line.startswith("#   pulumi")]
    assert shlex.split(commands[0]) == [
        *("pulumi", "config", "set", "--secret", "--path"),
        *("azure-gpu:container_groups.report.secret_environment.SMTP_PASSWORD", "--stack", "dev"),
        *("--config-file", "stacks/Pulumi.dev.yaml"),
    ]
    assert shlex.split(commands[2])[5] == 'azure-gpu:container_groups.report.volumes.certificates.secret["client.pem"]'
    assert len(commands) == 5
    assert PASSWORD not in out


def test_what_was_left_out_is_told_with_its_line(capsys: Capture) -> None:
    _, out, _ = run(capsys, VOLUMES_2019)
    assert "# left out, f.yaml:16: properties.containers[0].properties.resources.limits: the stack file has no key" in out
    assert "# left out, f.yaml:31: properties.diagnostics: logs go to the stack's own workspace" in out
    _, out, _ = run(capsys, NETWORK_PROFILE_2021)
    assert "# left out, f.yaml:19: properties.networkProfile" in out


def test_what_a_job_lacks_of_its_group_is_told(capsys: Capture) -> None:
    text = SIDECAR_2018.replace(
        "          memoryInGb: 1.5\n", "          memoryInGb: 1.5\n          gpu: {count: 1, sku: V100}\n"
    )
    _, out, _ = run(capsys, text.replace("location: westus", "location: westus2"))
    assert "a job has one container, and watcher is another" in out
    assert "left out, f.yaml:26: a job has no address" in out
    assert "a job has no ports" in out


def test_programs_get_the_same(capsys: Capture) -> None:
    code, out, _ = run(capsys, GPU_YAML, "--json", "--location", "eastus")
    told = json.loads(out)
    assert (code, told["taken"], told["as_of"]) == (0, True, TODAY)
    (gpu,) = told["groups"][0]["gpus"]
    assert (gpu["sku"], gpu["status"], gpu["end"], gpu["line"]) == ("K80", "retired", "2023-08-31", 13)
    assert gpu["instead"][0] == "Consumption-GPU-NC8as-T4"
    assert [(entry["section"], entry["active"]) for entry in told["groups"][0]["entries"]] == [
        ("jobs", True),
        ("container_groups", False),
    ]


REQUESTS = "properties.containers[0].properties.resources.requests"


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        (GPU_YAML, ("--location", "southcentralus"), "1: location: Container Instances had no K80 in this region"),
        (
            GPU_YAML.replace("count: 1", "count: 3"),
            (),
            f"14: {REQUESTS}.gpu.count: a container had 1, 2 or 4",
        ),
        (GPU_YAML.replace("cpu: 1.0", "cpu: 8"), (), f"11: {REQUESTS}.cpu: a group with 1 K80 has at most 6 CPU"),
        (GPU_YAML.replace("Linux", "Windows"), (), "16: properties.osType: a container group with a GPU runs Linux only"),
        (GPU_YAML.replace("  os", "  subnetIds: [{id: /s}]\n  os"), (), "16: properties.subnetIds: a container group with a GPU"),
        (
            GPU_YAML.replace("  os", "  priority: Spot\n  os"),
            (),
            "16: properties.priority: a Spot container group can't have a GPU",
        ),
        ("services: {web: {image: nginx}}\n", (), "1: this is a file of Docker Compose"),
        (GPU_YAML.replace("  containers", "\tcontainers"), (), "5: line 5 is indented with tabs"),
        (GPU_TEMPLATE.replace('"defaultValue": "gpucontainergrouprm",', ""), (), "5: parameters.containerGroupName: the value"),
        (WINDOWS_2020.replace("name: iis", "name: IIS"), (), "6: properties.containers[0].name: not a valid name"),
        (SPOT_2023.replace("python:", "Python:"), (), "12: properties.containers[0].properties.image: the image reference"),
        (SPOT_2023.replace("westeurope", "westeurop"), (), "3: location: unknown region"),
        (SPOT_2023.replace("properties:\n  pri", "tags: {a/b: c}\nproperties:\n  pri"), (), "4: tags: not a valid tag key"),
    ],
)
def test_bad_input_is_refused_by_line(capsys: Capture, text: str, more: tuple[str, ...], said: str) -> None:
    code, out, err = run(capsys, text, *more)
    assert (code, yaml.safe_load(out)) == (1, None)  # what could be read is a comment
    assert f"error: f.yaml:{said}" in err
    assert re.fullmatch(r"\d problems? in f.yaml: (nothing was taken|what could be read is printed.*)", err.splitlines()[-1])
    assert not out or " ".join(said.partition(":")[2].split())[:20] in " ".join(out.replace("#", " ").split())


def test_all_problems_come_at_once(capsys: Capture) -> None:
    text = GPU_YAML.replace("count: 1", "count: 3").replace("osType: Linux", "osType: Windows").replace("cpu: 1.0", "cpu: many")
    code, _, err = run(capsys, text)
    assert code == 1
    assert [line.split(":")[2] for line in err.splitlines() if line.startswith("error: ")] == ["11", "14", "16"]
    assert err.splitlines()[-1] == "3 problems in f.yaml: what could be read is printed, with the rest as comments"


def test_a_placeholder_is_a_comment_and_the_rest_is_taken(capsys: Capture) -> None:
    code, out, err = run(capsys, GPU_YAML.replace("image: k8s", "image: <registry>/k8s"))
    assert code == 0
    assert err.startswith(
        "warning: f.yaml:8: properties.containers[0].properties.image: <registry> is a placeholder, not a value"
    )
    job = yaml.safe_load(out)["azure-gpu:jobs"]["gpucontainergroup"]
    assert (job["gpu"], "image" in job) == ("T4", False)
    told = " ".join(out.replace("#", " ").split())
    assert "left out, f.yaml:8: properties.containers[0].properties.image: <registry> is a placeholder, not a value" in told
    assert "f.yaml:13: gpucontainer has 1 K80: retired, sold until 2023-08-31." in told


def test_a_gpu_that_is_gone_is_told_beside_what_is_wrong(capsys: Capture) -> None:
    code, out, err = run(capsys, GPU_YAML.replace("image: k8s", "image: //k8s"))
    assert (code, yaml.safe_load(out)) == (1, None)
    assert "warning: f.yaml:13: gpucontainer has 1 K80: retired, sold until 2023-08-31. What to do: every GPU" in err
    assert err.splitlines()[-1].startswith("1 problem in f.yaml: what could be read is printed")


def test_an_unquoted_api_version_is_taken_with_a_warning(capsys: Capture) -> None:
    code, _, err = run(capsys, GPU_YAML.replace("'2018-10-01'", "2018-10-01"))
    assert code == 0
    assert err.startswith("warning: f.yaml:2: apiVersion: YAML reads this as a date")


def test_a_parameter_file_and_single_parameters(capsys: Capture, folder: Path) -> None:
    vault = {"reference": {"keyVault": {"id": "/x"}, "secretName": "y"}}
    values = {"parameters": {"prefix": {"value": "day"}, "cpuCores": {"value": 3}, "registryPassword": vault}}
    (folder / "p.json").write_text(json.dumps(values))
    told = taken(capsys, TEMPLATE_2021, "--parameters", "p.json", "--parameter", "prefix=dusk", file="t.json")
    assert told["azure-gpu:jobs"]["dusk-train"]["cpu"] == 3


PLACED = GPU_TEMPLATE.replace('"apiVersion": "2018-10-01"', '"tags": {"in": "[resourceGroup().id]"}, "apiVersion": "2018-10-01"')


def test_where_a_template_is_deployed_can_be_said(capsys: Capture, folder: Path) -> None:
    code, _, err = run(capsys, PLACED, file="t.json", as_of="2019-06-01")
    assert code == 1
    assert "tags.in: the resource group is not known here" in err
    assert "fix: give it with --resource-group, or write the value" in err
    place = ("--subscription", "0", "--resource-group", "night")
    told = taken(capsys, PLACED, *place, file="t.json", as_of="2019-06-01")["azure-gpu:container_groups"]
    assert told["gpucontainergrouprm"]["tags"] == {"in": "/subscriptions/0/resourceGroups/night"}
    assert "location" not in told["gpucontainergrouprm"]  # where the stack is
    stack = _stack_folder() / "Pulumi.dev.yaml"
    stack.write_text(STACK_FILE.replace("config:\n", "config:\n  azure-native:subscriptionId: abc\n"))
    arguments = ("--stack", "dev", "--config-folder", "stacks", "--resource-group", "night")
    told = taken(capsys, PLACED, *arguments, file="t.json", as_of="2019-06-01")["azure-gpu:container_groups"]
    assert told["gpucontainergrouprm"]["tags"] == {"in": "/subscriptions/abc/resourceGroups/night"}


def test_names_of_ones_own(capsys: Capture) -> None:
    assert list(taken(capsys, SPOT_2023, "--name", "hunt")["azure-gpu:container_groups"]) == ["hunt"]
    code, _, err = run(capsys, TEMPLATE_2021, "--name", "hunt", file="t.json")
    assert code == 1
    assert "--name names one group, and 2 are in the file" in err
    code, out, err = run(capsys, SPOT_2023.replace("name: sweep\nl", "name: My Sweep\nl"))
    assert (code, list(yaml.safe_load(out)["azure-gpu:container_groups"])) == (0, ["my-sweep"])
    assert err.startswith("warning: f.yaml:2: name: not a valid name for")
    assert yaml.safe_load(out)["azure-gpu:container_groups"]["my-sweep"]["group_name"] == "my-sweep"


@pytest.mark.parametrize("arguments", [("--parameter", "x"), ("--as-of", "soon"), ("--write",), ("--colour",)])
def test_a_wrong_command_line_is_2(capsys: Capture, arguments: tuple[str, ...]) -> None:
    code, out, _ = run(capsys, GPU_YAML, *arguments)
    assert (code, out) == (2, "")


def test_a_file_that_isnt_there_and_one_that_is_no_text(capsys: Capture, folder: Path) -> None:
    assert main(["import", "nowhere.yaml"]) == 1
    assert "nowhere.yaml" in capsys.readouterr().err
    (folder / "b.yaml").write_bytes(b"\xff\xfa\x00")
    assert main(["import", "b.yaml"]) == 1
    assert "not text in UTF-8" in capsys.readouterr().err
    (folder / "u.yaml").write_bytes(SPOT_2023.encode("utf-16"))  # as PowerShell writes
    assert main(["import", "u.yaml"]) == 0
    capsys.readouterr()


STACK_FILE = """\
# Ours.
config:
  azure-gpu:team: vision
  azure-gpu:location: westeurope # near
  azure-gpu:secret:
    secure: AAABAKbN
  azure-gpu:container_groups:
    # the first
    check:
      image: nginx
      command:
        - a
    # no more so far
encryptionsalt: v1:abc
"""


def _stack_folder() -> Path:
    folder = Path("stacks")
    folder.mkdir(exist_ok=True)
    (folder / "Pulumi.dev.yaml").write_text(STACK_FILE)
    return folder


def test_the_stacks_region_and_day_are_taken(capsys: Capture, folder: Path) -> None:
    (_stack_folder() / "Pulumi.dev.yaml").write_text(STACK_FILE.replace("# near\n", '\n  azure-gpu:as_of: "2019-06-01"\n'))
    (folder / "f.yaml").write_text(GPU_YAML)
    assert main(["import", "f.yaml", "--stack", "dev", "--config-folder", "stacks"]) == 0
    told = yaml.safe_load(capsys.readouterr().out)["azure-gpu:container_groups"]["gpucontainergroup"]
    assert told["gpu"] == {"count": 1, "sku": "K80"}
    assert "as_of" not in told


def test_write_adds_entries_and_leaves_every_line(capsys: Capture) -> None:
    file = _stack_folder() / "Pulumi.dev.yaml"
    stack = ("--stack", "dev", "--config-folder", "stacks", "--write")
    code, _, err = run(capsys, TEMPLATE_2021, *stack, file="t.json")
    assert code == 0
    assert err.splitlines()[-1] == f"{file}: jobs.night-train, container_groups.night-report added"
    text = file.read_text()
    lines = iter(text.splitlines())
    assert all(line in lines for line in STACK_FILE.splitlines())  # each, and in their order
    config = yaml.safe_load(text)["config"]
    assert list(config["azure-gpu:container_groups"]) == ["check", "night-report"]
    assert config["azure-gpu:jobs"]["night-train"]["gpu"] == "A100"
    assert config["azure-gpu:secret"] == {"secure": "AAABAKbN"}
    assert PASSWORD not in text

    code, _, err = run(capsys, TEMPLATE_2021, *stack, file="t.json")  # a second time
    assert code == 1
    assert "has an entry night-train already: choose another name with --name" in err
    assert file.read_text() == text


def test_a_stack_file_of_another_layout_is_left_alone(capsys: Capture) -> None:
    file = _stack_folder() / "Pulumi.dev.yaml"
    for text in ("config: {azure-gpu:team: a}\n", "config:\n  azure-gpu:container_groups: {a: {image: b}}\n", "- 1\n", "a: [\n"):
        file.write_text(text)
        code, _, err = run(capsys, SPOT_2023, "--stack", "dev", "--config-folder", "stacks", "--write")
        assert code == 1
        assert "error: " in err
        assert file.read_text() == text
