"""`python -m operations import`: what it prints is a stack file that the program takes, and what it writes into one.

What it makes of each file is in `test_import.py`."""

import json
import re
import shlex
from collections.abc import Mapping
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
from tests.operations.test_import import files_of, row_of, words_of
from tests.support.container_group_files import FILES, GPU_TEMPLATE, GPU_YAML, PASSWORD, SPOT_2023, TEMPLATE_2021, VOLUMES_2019
from tests.support.embedded import CHECKOUT

TODAY = "2026-11-21"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(
    capsys: Capture, text: str | Mapping[str, str], *arguments: str, file: str = "f.yaml", as_of: str = TODAY
) -> tuple[int, str, str]:
    """`text`: of the file, or the texts of a folder's files."""
    for name, content in ({"": text} if isinstance(text, str) else text).items():
        path = Path(file) / name if name else Path(file)
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    code = main(["import", file, "--as-of", as_of, *arguments])
    output = capsys.readouterr()
    return code, output.out, output.err


def taken(capsys: Capture, text: str | Mapping[str, str], *arguments: str, **more: Any) -> dict[str, Any]:
    code, out, err = run(capsys, text, *arguments, **more)
    assert (code, [line for line in err.splitlines() if not line.startswith("warning: ")]) == (0, []), err
    return yaml.safe_load(out)


# What is printed is all that the program needs, once its secrets are set

THEN = "2019-06-01"
WHOLE: dict[str, tuple[str | Mapping[str, str], tuple[str, ...]]] = {
    **{file: (text, (THEN, TODAY)) for file, text in FILES.items()},
    **{
        name: (next(iter(files_of(row_of("documents", name)).values())), (TODAY,))
        for name in ("Batch in a template", "a cluster with its GPU pools", "a compute of a size that is gone")
    },
}


@pytest.mark.parametrize(("name", "as_of"), [(name, as_of) for name, (_, days) in WHOLE.items() for as_of in days])
def test_the_program_takes_what_is_printed(capsys: Capture, name: str, as_of: str) -> None:
    code, out, err = run(capsys, WHOLE[name][0], "--location", "eastus", file=name.replace(" ", "-"), as_of=as_of)
    assert code == 0, err
    config = {
        "azure-native:subscriptionId": SUBSCRIPTION,
        "azure-gpu:team": "t",
        "azure-gpu:location": "eastus",
        "azure-gpu:foundation": {"resource_group": "create", "identity": "create"},
        **yaml.safe_load(out),
    }
    for line in out.splitlines():
        if line.startswith("#   pulumi config set --secret --path "):
            _set(config, shlex.split(line)[6], "aGVsbG8=")
    if name == "profile-2021.yaml":  # of a network profile nobody can say which subnet it is
        # pyrefly: ignore[bad-index, unsupported-operation]
        config["azure-gpu:container_groups"]["inside"]["subnet_id"] = (
            f"/subscriptions/{SUBSCRIPTION}/resourceGroups/r/x/subnets/s"
        )
    if "azure-gpu:ml_workspace" in config:
        # pyrefly: ignore[unsupported-operation]
        config["azure-gpu:ml_workspace"]["create"] = True
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


def test_the_program_takes_what_is_written_of_the_documents_service(capsys: Capture) -> None:
    file = Path("Pulumi.old.yaml")
    image_source = "https://github.com/example/azure-gpu.git#0123456789012345678901234567890123456789"
    config = {"azure-native:subscriptionId": SUBSCRIPTION, "azure-gpu:image_source": image_source, "azure-gpu:team": "t"}
    file.write_text(yaml.safe_dump({"config": {**config, "azure-gpu:location": "eastus", "azure-gpu:as_of": TODAY}}))
    folder = CHECKOUT / "examples" / "documents" / "inference"
    sdk = {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir()}
    assert run(capsys, sdk, "--stack", "old", "--config-folder", ".", "--write", file="project")[0] == 0
    read = stack_settings.read(configuration(file.read_text()), TODAY)
    assert read.problems == []
    assert errors(pure_problems(read, "azure-gpu", "old")) == []


# Files that are read in another way, or not at all


def test_a_parameter_file_and_single_parameters(capsys: Capture, folder: Path) -> None:
    vault = {"reference": {"keyVault": {"id": "/x"}, "secretName": "y"}}
    values = {"parameters": {"prefix": {"value": "day"}, "cpuCores": {"value": 3}, "registryPassword": vault}}
    (folder / "p.json").write_text(json.dumps(values))
    told = taken(capsys, TEMPLATE_2021, "--parameters", "p.json", "--parameter", "prefix=dusk", file="t.json")
    assert told["azure-gpu:jobs"]["dusk-train"]["cpu"] == 3


def test_a_file_that_isnt_there_or_is_no_text_or_has_no_end(capsys: Capture, folder: Path) -> None:
    (folder / "b.yaml").write_bytes(b"\xff\xfa\x00")
    (folder / "yard").mkdir()
    (folder / "yard" / "pool.yaml").write_bytes(b"a:\n  id: \xe9\xff\n")
    for name, said in (
        ("nowhere.yaml", "nowhere.yaml"),
        ("b.yaml", "not text in UTF-8"),
        ("yard", "pool.yaml: not text in UTF-8"),
        ("/dev/zero", "the file is too large"),
    ):
        assert main(["import", name]) == 1
        assert said in capsys.readouterr().err, name
    (folder / "u.yaml").write_bytes(SPOT_2023.encode("utf-16"))  # as PowerShell writes
    assert main(["import", "u.yaml"]) == 0
    capsys.readouterr()


def test_nothing_of_a_file_ends_a_comment_or_steers_a_terminal(capsys: Capture) -> None:
    text = 'type: "remotedocker"\naddress: "a\\e]0;owned\\a\\Lconfig: 1"\nusername: "x\\Nevil: 1"\n"\\e[2J": 1\n'
    file = _stack_folder() / "Pulumi.dev.yaml"
    _, out, err = run(capsys, text, "--stack", "dev", "--config-folder", "stacks", "--write", file="dsvm.compute")
    assert "dsvm.compute:4: compute" in out
    assert not [each for each in out + err if not each.isprintable() and each != "\n"]
    assert "dsvm" in yaml.load(out, yaml.CSafeLoader)["azure-gpu:vms"]
    assert "ssh_public_key" in err  # without which the stack refuses a machine
    assert file.read_text() == STACK_FILE


@pytest.mark.parametrize(
    ("document", "section", "name"),
    [
        ("2-machine-learning-workbench-gpu.txt", "vms", "my-dsvm"),
        ("5-machine-learning-gpu-inference.txt", "ml_endpoints", "gpu-rn"),
    ],
)
def test_the_source_documents_themselves_are_taken(capsys: Capture, document: str, section: str, name: str) -> None:
    page = CHECKOUT.parent / "shared" / "documents" / document
    if not page.exists():
        pytest.skip("the source documents are not on this machine")
    config = taken(capsys, page.read_text(encoding="utf-8"), file=document)
    assert list(config[f"azure-gpu:{section}"]) == [name]


def test_the_commands_of_the_documents_page_take_its_files(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (CHECKOUT / "examples" / "documents" / "machine-learning.md").read_text(encoding="utf-8")
    commands = [line.split()[3:] for line in page.splitlines() if line.startswith("python -m operations import ")]
    assert len(commands) == 2
    monkeypatch.chdir(CHECKOUT)
    assert [main(["import", *command[1:], "--as-of", TODAY]) for command in commands] == [0, 0]
    said = capsys.readouterr()
    assert "azure-gpu:ml_endpoints:" in said.out
    assert "my_password" not in said.out
    assert "password: a machine accepts a public key only" in words_of(said.out)


# What is read of a stack file and written into it

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


def test_the_stacks_subscription_is_taken(capsys: Capture) -> None:
    text = GPU_TEMPLATE.replace('"apiVersion": "2018', '"tags": {"in": "[resourceGroup().id]"}, "apiVersion": "2018')
    stack = _stack_folder() / "Pulumi.dev.yaml"
    stack.write_text(STACK_FILE.replace("config:\n", "config:\n  azure-native:subscriptionId: abc\n"))
    arguments = ("--stack", "dev", "--config-folder", "stacks", "--resource-group", "night")
    told = taken(capsys, text, *arguments, file="t.json", as_of="2019-06-01")["azure-gpu:container_groups"]
    assert told["gpucontainergrouprm"]["tags"] == {"in": "/subscriptions/abc/resourceGroups/night"}


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
    assert "has an entry night-train already: remove it there, or name this one otherwise" in err
    assert file.read_text() == text


def test_a_stack_file_of_another_layout_is_left_alone(capsys: Capture) -> None:
    file = _stack_folder() / "Pulumi.dev.yaml"
    for text in ("config: {azure-gpu:team: a}\n", "config:\n  azure-gpu:container_groups: {a: {image: b}}\n", "- 1\n", "a: [\n"):
        file.write_text(text)
        code, _, err = run(capsys, SPOT_2023, "--stack", "dev", "--config-folder", "stacks", "--write")
        assert code == 1
        assert "error: " in err
        assert file.read_text() == text
