"""The recipes of examples/gallery-image: what they ask of Azure, in which order, and that they leave nothing behind.

`az` is a stand-in that writes down its words and answers with what the recipe needs; each of these command lines is parsed by the
real Azure CLI, and sent nowhere.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from azure_gpu_operations.shell import cli
from tests.support.embedded import CHECKOUT
from tests.support.patience import SECONDS
from tests.support.readme_commands import commands_in

pytestmark = pytest.mark.slow  # each runs a script

RECIPES = CHECKOUT / "examples" / "gallery-image"
BUILD = ("--group", "images", "--gallery", "lab")
GROUP = "images-build-gpu-linux-hpc-1-0-0"
# `az` for the recipes: it keeps each command line as JSON. A file `version` says that the version is there; the words in `fails`
# are those of a command that goes wrong.
STAND_IN = """#!{python}
import json, pathlib, sys
folder = pathlib.Path({folder!r})
words = sys.argv[1:]
with (folder / "commands").open("a") as commands:
    commands.write(json.dumps(words) + "\\n")
line = " ".join(words)
fails = (folder / "fails").read_text() if (folder / "fails").exists() else "nothing fails"
if fails in line:
    sys.exit("the stand-in was told to fail")
version = folder / "version"
if line.startswith(("sig show", "sig image-definition show")) and not version.exists():
    sys.exit(3)
if line.startswith("sig image-version show"):
    print("/versions/1.0.0") if version.exists() else sys.exit(3)
if line.startswith("sig image-version create"):
    version.touch()
if line.startswith("vm show"):
    print("/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/build")
if line.startswith("vm run-command"):
    print("the-driver-works it-is-generalised Microsoft MPI is installed, sysprep has begun")
if "--admin-password" in words:
    file = pathlib.Path(words[words.index("--admin-password") + 1].removeprefix("@"))
    (folder / "password").write_text(f"{{file.stat().st_mode & 0o777:o}} {{file.read_text()}} {{file}}")
"""
# Parses command lines with the Azure CLI's own parser, which knows each command's options, and which of them are needed.
PARSER = """
import json, sys
from azure.cli.core import get_default_cli
cli = get_default_cli()
wrong = []
for line in open(sys.argv[1]):
    words = json.loads(line)
    invocation = cli.invocation_cls(
        cli_ctx=cli, parser_cls=cli.parser_cls, commands_loader_cls=cli.commands_loader_cls, help_cls=cli.help_cls)
    cli.invocation = invocation
    invocation.data["command_string"] = " ".join(words)
    invocation.commands_loader.load_command_table(words)
    command = max((name for name in invocation.commands_loader.command_table if words[:len(name.split())] == name.split()),
                  key=len, default="")
    if not command:
        wrong.append([words, "no such command"])
        continue
    invocation.commands_loader.command_name = command
    invocation.commands_loader.load_arguments(command)
    invocation.parser.load_command_table(invocation.commands_loader)
    try:
        invocation.parser.parse_args(words)
    except SystemExit as error:
        wrong.append([words, f"exit {error.code}"])
print(json.dumps(wrong))
"""


class Built(NamedTuple):
    """One run of a recipe."""

    code: int
    printed: str
    said: str
    commands: list[list[str]]

    @property
    def lines(self) -> list[str]:
        return [" ".join(words) for words in self.commands]

    def names(self) -> list[str]:
        """The commands without their options."""
        return [" ".join(word for word in _before_options(words)) for words in self.commands]


def _before_options(words: list[str]) -> list[str]:
    return words[: next(index for index, word in enumerate(words) if word.startswith("-"))]


class Recipes:
    """Runs recipes with the stand-in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        az = folder / "bin" / "az"
        az.write_text(STAND_IN.format(python=sys.executable, folder=str(folder)), encoding="utf-8")
        az.chmod(0o755)

    def __call__(self, script: str, *options: str) -> Built:
        commands = self.folder / "commands"
        commands.unlink(missing_ok=True)
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [str(RECIPES / script), *options],
            env={**os.environ, "PATH": path, "TMPDIR": str(self.folder)},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        lines = commands.read_text(encoding="utf-8").splitlines() if commands.exists() else []
        return Built(done.returncode, done.stdout, done.stderr, [json.loads(line) for line in lines])


@pytest.fixture
def recipes(tmp_path: Path) -> Recipes:
    return Recipes(tmp_path)


def test_a_linux_image_is_built_published_and_cleaned_up_after(recipes: Recipes) -> None:
    built = recipes("linux.sh", *BUILD)
    assert built.code == 0, built.said
    assert built.printed == "/versions/1.0.0\n"
    assert built.names() == [
        "group create",
        "sig show",
        "sig create",
        "sig image-definition show",
        "sig image-definition create",
        "sig image-version show",
        "group create",
        "vm create",
        "vm run-command invoke",
        "vm run-command invoke",
        "vm deallocate",
        "vm generalize",
        "vm show",
        "sig image-version create",
        "sig image-version show",
        "group delete",
    ]
    create = next(line for line in built.lines if line.startswith("vm create"))
    assert "--image microsoft-dsvm:ubuntu-hpc:2404:latest --size Standard_NC4as_T4_v3 --security-type Standard" in create
    assert "--public-ip-address  --nsg-rule NONE" in create
    assert built.lines[-1] == f"group delete --name {GROUP} --yes --no-wait --output none"


def test_a_version_that_is_there_is_not_built_again(recipes: Recipes) -> None:
    assert recipes("linux.sh", *BUILD).code == 0
    again = recipes("linux.sh", *BUILD)
    assert (again.code, again.printed) == (0, "/versions/1.0.0\n")
    assert again.names() == ["group create", "sig show", "sig image-definition show", "sig image-version show"]


def test_plain_ubuntu_gets_its_driver_by_the_extension(recipes: Recipes, tmp_path: Path) -> None:
    (tmp_path / "packages.sh").write_text("apt-get install -y ffmpeg\n", encoding="utf-8")
    built = recipes("linux.sh", *BUILD, "--driver", "extension", "--setup", "packages.sh", "--regions", "eastus westus3")
    assert built.code == 0, built.said
    assert any("--image Canonical:0001-com-ubuntu-server-jammy:22_04-lts-gen2:latest" in line for line in built.lines)
    assert any("--publisher Microsoft.HpcCompute --name NvidiaGpuDriverLinux" in line for line in built.lines)
    assert any("--scripts @packages.sh" in line for line in built.lines)
    assert any("--target-regions eastus westus3 --replica-count 1" in line for line in built.lines)


def test_a_windows_image_for_mpi_has_the_driver_of_its_network_and_microsoft_mpi(recipes: Recipes) -> None:
    built = recipes("windows.sh", *BUILD, "--size", "Standard_H16r", "--mpi", "yes", "--rdma", "HpcVmDrivers")
    assert built.code == 0, built.said
    order = [
        next(index for index, line in enumerate(built.lines) if part in line)
        for part in (
            "vm create",
            "vm extension set --resource-group images-build-gpu-windows-1-0-0 --vm-name build --publisher Microsoft.HpcCompute"
            " --name HpcVmDrivers",
            "install-msmpi.ps1",
            "generalize.ps1",
            "vm wait",
            "vm deallocate",
            "vm generalize",
            "sig image-version create",
            "group delete",
        )
    ]
    assert order == sorted(order)
    assert not any("NvidiaGpuDriverWindows" in line for line in built.lines)


def test_a_windows_gpu_image_has_nvidias_driver(recipes: Recipes) -> None:
    built = recipes("windows.sh", *BUILD, "--size", "Standard_NC4as_T4_v3")
    assert built.code == 0, built.said
    assert any("--name NvidiaGpuDriverWindows" in line for line in built.lines)
    assert not any("install-msmpi" in line for line in built.lines)


def test_the_password_of_windows_is_in_no_command_line_and_in_no_file_that_stays(recipes: Recipes, tmp_path: Path) -> None:
    built = recipes("windows.sh", *BUILD, "--size", "Standard_NC4as_T4_v3")
    mode, password, file = (tmp_path / "password").read_text(encoding="utf-8").split(" ")
    assert mode == "600"
    assert len(password) >= 24
    assert not Path(file).exists()
    assert password not in "\n".join([*built.lines, built.said, built.printed])


@pytest.mark.parametrize("part", ["vm create", "--name NvidiaGpuDriverLinux", "vm generalize", "sig image-version create"])
def test_what_was_made_for_the_build_goes_also_where_it_fails(recipes: Recipes, tmp_path: Path, part: str) -> None:
    (tmp_path / "fails").write_text(part, encoding="utf-8")
    built = recipes("linux.sh", *BUILD, "--driver", "extension")
    assert built.code != 0
    assert built.printed == ""
    assert built.lines[-1].startswith("group delete --name images-build-gpu-linux-1-0-0 --yes")


def test_a_machine_whose_driver_doesnt_work_becomes_no_image(recipes: Recipes, tmp_path: Path) -> None:
    az = tmp_path / "bin" / "az"
    az.write_text(az.read_text(encoding="utf-8").replace("the-driver-works", "NVIDIA-SMI has failed"), encoding="utf-8")
    built = recipes("linux.sh", *BUILD)
    assert built.code == 1
    assert "error: the machine didn't say 'the-driver-works'" in built.said
    assert not any("image-version create" in line for line in built.lines)
    assert built.names()[-1] == "group delete"


@pytest.mark.parametrize(
    ("script", "options", "said"),
    [
        ("linux.sh", (), "--group names the resource group"),
        ("linux.sh", ("--group", "g", "--gallery", "a-b"), "--gallery is letters, digits, dots and underscores"),
        ("linux.sh", (*BUILD, "--version", "1"), "--version is three numbers"),
        ("linux.sh", (*BUILD, "--driver", "magic"), "--driver is image or extension"),
        ("linux.sh", (*BUILD, "--setup", "nowhere.sh"), "there is no script nowhere.sh"),
        ("linux.sh", ("--group",), "--group needs a value"),
        ("linux.sh", ("--colour", "blue"), "no such option: --colour"),
        ("windows.sh", BUILD, "--size is the size that the nodes will have"),
        ("windows.sh", (*BUILD, "--size", "Standard_H16r", "--rdma", "other"), "--rdma is InfiniBandDriverWindows"),
    ],
)
def test_a_wrong_command_line_asks_nothing_of_azure(recipes: Recipes, script: str, options: tuple[str, ...], said: str) -> None:
    built = recipes(script, *options)
    assert built.code == 2
    assert said in built.said
    assert built.commands == []


@pytest.mark.parametrize("command", commands_in(RECIPES / "README.md"))
def test_the_commands_of_the_readme_build_an_image(recipes: Recipes, tmp_path: Path, command: str) -> None:
    (tmp_path / "packages.sh").write_text("true\n", encoding="utf-8")
    script, *options = shlex.split(command)
    built = recipes(script.removeprefix("./"), *options)
    assert (built.code, built.printed) == (0, "/versions/1.0.0\n"), built.said
    assert built.names()[-1] == "group delete"


def test_shellcheck_finds_nothing() -> None:
    program = Path(sys.executable).with_name("shellcheck")
    scripts = sorted(map(str, RECIPES.glob("*.sh")))
    done = subprocess.run([str(program), "-x", *scripts], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_every_command_line_is_one_of_the_real_azure_cli(recipes: Recipes, tmp_path: Path) -> None:
    (tmp_path / "setup.sh").write_text("true\n", encoding="utf-8")
    lines: dict[tuple[str, ...], str] = {}  # one of each command with the same options, whatever their values
    for script, options in (
        ("linux.sh", ("--setup", "setup.sh", "--regions", "eastus westus3")),
        ("linux.sh", ("--driver", "extension", "--version", "1.0.1")),
        ("windows.sh", ("--size", "Standard_NC4as_T4_v3")),
        ("windows.sh", ("--size", "Standard_HB120rs_v3", "--mpi", "yes", "--rdma", "InfiniBandDriverWindows")),
    ):
        (tmp_path / "version").unlink(missing_ok=True)
        for words in recipes(script, *BUILD, *options).commands:
            options_at = next((number for number, word in enumerate(words) if word.startswith("--")), len(words))
            lines[*words[:options_at], *(word for word in words[options_at:] if word.startswith("--"))] = json.dumps(words)
    wrong = [["vm", "create", "--name", "x"], ["vm", "explode"]]  # which the parser does see
    every = tmp_path / "every"
    every.write_text("\n".join([*lines.values(), *map(json.dumps, wrong)]) + "\n", encoding="utf-8")
    assert [words for words, _ in parsed(every, tmp_path)] == wrong


def parsed(file: Path, folder: Path) -> list[tuple[list[str], str]]:
    """What the Azure CLI's parser has against the command lines in a file. Nothing is sent: no command runs."""
    found = cli.folder_of_az(os.environ, print)
    if found is None:
        pytest.skip("the Azure CLI on PATH is not an installation of this project, so its Python isn't known")
    environment = {**os.environ, "AZURE_CONFIG_DIR": str(folder / "azure"), "AZURE_CORE_COLLECT_TELEMETRY": "no"}
    python = found.parent / "bin" / "python"
    done = subprocess.run(
        [str(python), "-I", "-c", PARSER, str(file)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [(words, why) for words, why in json.loads(done.stdout.splitlines()[-1])]
