"""What a run sends to a virtual machine: its script, run by a real bash among programs that write down how they were called."""

import ensurepip
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import requests

from azure_gpu_operations.connection import Connection
from azure_gpu_operations.run import gpu_confirmation, options as run_options
from azure_gpu_operations.run.context import BASE_IMAGE, of_folder, of_script
from azure_gpu_operations.run.on_vm import plan, run
from azure_gpu_operations.run.on_vm.plan import Image, OutputStore
from azure_gpu_operations.run.on_vm.request import VmRequest, resolve, too_large
from azure_gpu_operations.run.on_vm.run import brings_containers
from azure_gpu_operations.run.protocol import Output
from azure_gpu_operations.run.target import RunMethod, Target
from azure_gpu_operations.run.used_part import client_id
from azure_gpu_operations.stack_view import StackView
from tests.support.patience import SECONDS

NAME = "run-train-20261122-120000-abcd"
PLACE = OutputStore("https://data.blob.core.windows.net/", "client-1")
SCRIPT = Target(of_script("train.py", "import sys\nprint('it says', sys.argv[1:])\nsys.exit(3)\n", "", BASE_IMAGE))
SMI = "Tesla T4, 7.5, 5001, 00000001:00:00.0, 15360, 15255, 580.95.05"
VIEW = StackView("dev", Connection("s"), vms={"trainer": "/vm"}, registry="/r", storage="/s")
# Writes down its words and its variables, and says whatever a program of this name would.
FAKE = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["CALLS"], "a") as file:
    file.write(json.dumps([os.path.basename(sys.argv[0]), sys.argv[1:], os.environ.get("TOKEN")]) + "\\n")
print(os.environ.get("SAYS_" + os.path.basename(sys.argv[0]).upper().replace("-", "_"), ""))
sys.exit(int(os.environ.get("CODE_" + os.path.basename(sys.argv[0]).upper().replace("-", "_"), "0")))
"""


def ran(tmp_path: Path, text: str, programs: tuple[str, ...], **environment: str) -> "subprocess.CompletedProcess[str]":
    """The script in a bash that finds those programs and the usual ones."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    for program in programs:
        (folder / program).write_text(FAKE)
        (folder / program).chmod(0o755)
    variables = {"PATH": f"{folder}:/usr/bin:/bin", "CALLS": str(tmp_path / "calls"), "HOME": str(tmp_path), **environment}
    text = text.replace("/var/lib/azure-gpu", str(tmp_path / "machine"))
    return subprocess.run(["bash", "-c", text], env=variables, capture_output=True, text=True, timeout=SECONDS, check=False)


def calls(tmp_path: Path) -> list[list[Any]]:
    return [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]


@pytest.mark.slow
def test_a_container_is_pulled_as_the_machine_and_gets_all_gpus_its_words_and_its_secrets(tmp_path: Path) -> None:
    wanted = VmRequest(
        SCRIPT._replace(environment={"A": "it's $HOME"}, secrets={"TOKEN": "hunter2"}), ("--note", "two words", "$(id)", "'")
    )
    text = plan.script(NAME, wanted, RunMethod.CONTAINER, Image("r.azurecr.io/run/train:1", "r.azurecr.io"), PLACE)
    assert "hunter2" not in text
    done = ran(
        tmp_path, text, ("nvidia-smi", "az", "docker"), SAYS_NVIDIA_SMI=SMI, TOKEN="hunter2", SAYS_DOCKER="out", CODE_DOCKER="0"
    )
    assert done.returncode == 0, done.stderr
    seen = calls(tmp_path)
    assert [each[0] for each in seen] == ["nvidia-smi", "az", "az", "docker", "docker"]
    assert seen[1][1] == ["login", "--identity", "--client-id", "client-1", "--output", "none"]
    assert seen[2][1] == ["acr", "login", "--name", "r"]
    assert seen[3][1] == ["pull", "-q", "r.azurecr.io/run/train:1"]
    run = ["run", "--rm", "--name", NAME, "--gpus", "all", "-e", "A=it's $HOME", "-e", "TOKEN", "r.azurecr.io/run/train:1"]
    assert seen[4][1] == [*run, "--note", "two words", "$(id)", "'"]
    assert seen[4][2] == "hunter2"
    assert done.stdout == "out\n"
    assert done.stderr.splitlines() == [f"azure-gpu: gpu {SMI}"]


@pytest.mark.slow
def test_without_a_gpu_the_container_gets_none_and_that_is_said(tmp_path: Path) -> None:
    text = plan.script(NAME, VmRequest(SCRIPT), RunMethod.CONTAINER, Image("docker.io/me/app:1"), PLACE)
    done = ran(tmp_path, text, ("docker",))
    assert [each[0] for each in calls(tmp_path)] == ["docker", "docker"]  # and nobody signs on to somebody else's registry
    assert "--gpus" not in calls(tmp_path)[1][1]
    assert gpu_confirmation.messages_in(done.stderr.splitlines()[0]) == [
        "no GPU found (nvidia-smi not found): running on the CPU"
    ]


@pytest.mark.slow
def test_a_machine_without_docker_says_so_and_ends_as_docker_would(tmp_path: Path) -> None:
    text = plan.script(NAME, VmRequest(SCRIPT), RunMethod.CONTAINER, Image("docker.io/me/app:1"), PLACE)
    folder = tmp_path / "bin"
    folder.mkdir()
    for program in ("tail", "printf"):
        (folder / program).symlink_to(f"/usr/bin/{program}")
    done = subprocess.run(
        ["/bin/bash", "-c", text], env={"PATH": str(folder)}, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 125
    assert "docker is not installed on this machine" in done.stderr


@pytest.mark.slow
def test_an_image_that_can_not_be_pulled_ends_with_125_and_a_program_with_its_own_code(tmp_path: Path) -> None:
    text = plan.script(NAME, VmRequest(SCRIPT), RunMethod.CONTAINER, Image("docker.io/me/app:1"), PLACE)
    assert ran(tmp_path, text, ("docker",), CODE_DOCKER="1").returncode == 125
    only_run = text.replace("docker pull -q docker.io/me/app:1 >/dev/null || exit 125\n", "")
    assert ran(tmp_path, only_run, ("docker",), CODE_DOCKER="7").returncode == 7


@pytest.mark.slow
def test_a_script_runs_with_the_machines_python_leaves_nothing_and_its_code_is_ours(tmp_path: Path) -> None:
    text = plan.script(NAME, VmRequest(SCRIPT, ("a", "b c", "$(id)")), RunMethod.PYTHON, None, PLACE)
    done = ran(tmp_path, text, ())
    assert done.returncode == 3, done.stderr
    assert done.stdout == "it says ['a', 'b c', '$(id)']\n"
    assert list((tmp_path / "machine" / "runs").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("has_pip", "apt_get", "code"), [(True, "1", 0), (False, "0", 0), (False, "1", 125)], ids=["pip", "neither", "no-way"]
)
def test_requirements_are_installed_where_the_image_has_no_python3_venv(
    tmp_path: Path, has_pip: bool, apt_get: str, code: int
) -> None:
    """As on images of Ubuntu: a Python that makes environments only without pip, until python3-venv is installed."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python3"
    installed = tmp_path / "calls"  # apt-get has written down that it was called
    python.write_text(
        f"""#!/bin/bash
case "$*" in
  "-m venv --without-pip "*) ;;
  "-m venv "*) [ -e {installed} ] || {{ mkdir -p "$3"; echo "ensurepip is not available"; exit 1; }} ;;
  "-m pip "*) {"true" if has_pip else "exit 1"} ;;
esac
exec {sys.executable} "$@"
"""
    )
    python.chmod(0o755)
    script = of_script("x.py", "import pip, sys; print(sys.prefix != sys.base_prefix)", "# nothing\n", BASE_IMAGE)
    text = plan.script(NAME, VmRequest(Target(script)), RunMethod.PYTHON, None, PLACE)
    wheels = str(Path(ensurepip.__file__).parent / "_bundled")
    done = ran(tmp_path, text, ("apt-get",), PIP_NO_INDEX="1", PIP_FIND_LINKS=wheels, CODE_APT_GET=apt_get)
    assert (done.returncode, done.stdout) == (code, "True\n" if code == 0 else ""), done.stderr
    assert installed.exists() != has_pip
    assert ("--way container" in done.stderr) == (code != 0)
    assert not list((tmp_path / "machine" / "environments").glob("*.*"))  # nothing half made is left


@pytest.mark.slow
def test_a_command_of_the_machines_own_is_run_as_it_is(tmp_path: Path) -> None:
    done = ran(
        tmp_path, plan.script(NAME, VmRequest(Target(environment={"A": "1 2"}), ("sh", "-c", 'echo "$A"')), None, None, PLACE), ()
    )
    assert (done.returncode, done.stdout) == (0, "1 2\n")


def test_the_words_of_each_program_that_a_script_calls() -> None:
    asked = VmRequest(SCRIPT._replace(environment={"A": "it's $HOME"}, secrets={"TOKEN": "hunter2"}), ("two words", "$(id)"))

    def calls(request: VmRequest, method: RunMethod | None, image: Image | None = None) -> list[list[str]]:
        text = plan.script(NAME, request, method, image, PLACE)
        assert "hunter2" not in text
        programs = ("docker ", "az ", "env ", "exec ")
        lines = [part for line in text.splitlines() for part in line.strip().split(" && ")]
        return [shlex.split(line, comments=True) for line in lines if line.startswith(programs)]

    container = calls(asked, RunMethod.CONTAINER, Image("r.azurecr.io/run/train:1", "r.azurecr.io"))
    assert container == [
        ["az", "login", "--identity", "--client-id", "client-1", "--output", "none", ">/dev/null"],
        ["az", "acr", "login", "--name", "r", ">/dev/null", "||", "exit", "125"],
        ["docker", "pull", "-q", "r.azurecr.io/run/train:1", ">/dev/null", "||", "exit", "125"],
        [
            *("docker", "run", "--rm", "--name", NAME, "${with[@]}", "-e", "A=it's $HOME", "-e", "TOKEN"),
            *("r.azurecr.io/run/train:1", "two words", "$(id)", "&"),
        ],
    ]
    assert [each[0] for each in calls(VmRequest(SCRIPT), RunMethod.CONTAINER, Image("docker.io/me/app:1"))] == ["docker"] * 2
    assert calls(asked, RunMethod.PYTHON) == [
        ["env", "PYTHONUNBUFFERED=1", "A=it's $HOME", "python3", "train.py", "two words", "$(id)", "&"]
    ]
    own = VmRequest(Target(environment={"A": "1 2"}), ("sh", "-c", 'echo "$A"'))
    assert calls(own, None) == [["exec", "env", "A=1 2", "sh", "-c", 'echo "$A"']]
    with_requirements = Target(of_script("train.py", "", "six==1.17.0\n", BASE_IMAGE))
    (python,) = calls(VmRequest(with_requirements), RunMethod.PYTHON)
    assert python[2].startswith("/var/lib/azure-gpu/environments/")


def test_which_images_bring_what_runs_containers_and_as_whom_a_machine_speaks() -> None:
    def of(offer: str, sku: str) -> dict[str, Any]:
        reference = {"publisher": "microsoft-dsvm", "offer": offer, "sku": sku}
        return {"properties": {"storageProfile": {"imageReference": reference}}}

    assert brings_containers(of("ubuntu-hpc", "2404"))
    assert not brings_containers(of("ubuntu-2204", "2204-gen2"))
    assert not brings_containers({"properties": {"storageProfile": {"imageReference": {"id": "/x"}}}})
    assert client_id({"identity": {"userAssignedIdentities": {"/a": {"clientId": "c"}}}}) == "c"
    assert client_id({"identity": {"principalId": "p"}}) == ""
    assert client_id({}) is None


@pytest.mark.parametrize(
    ("said", "target", "wrong"),
    [
        ("--way python", Target(of_folder("mnist", {"Dockerfile": b"FROM x"})), "only scripts run"),
        ("--way python", Target(image="a:1"), "only scripts run"),
        ("--way python --base python:3.12", SCRIPT, "can't be combined with --way python"),
        ("--stop-after --detach", SCRIPT, "can't be combined with --detach"),
    ],
)
def test_what_a_machine_can_not_be_asked_is_refused(said: str, target: Target, wrong: str) -> None:
    _, problems = resolve(run_options.parsed(["--on", "vm", *said.split()]), target, VIEW)
    assert wrong in "; ".join(map(str, problems))


def test_a_stack_without_storage_or_registry_says_what_is_missing() -> None:
    assert resolve(run_options.parsed(["--on", "vm"]), SCRIPT, VIEW)[1] == []
    container = run_options.parsed(["--on", "vm", "--way", "container"])
    _, problems = resolve(container, SCRIPT, VIEW._replace(registry="", storage=""))
    assert [problem.fix.split(" ")[1] for problem in problems] == ["`storage:", "`registry:"]
    assert too_large(SCRIPT) == []
    assert len(too_large(Target(of_script("x.py", "#" * 40_000, "", BASE_IMAGE)))) == 1


class Unreached:
    """An ARM that tells of one deallocated machine, and then isn't reached any more."""

    def __init__(self, _: Connection, ends: BaseException) -> None:
        self.asked: list[str] = []
        self.ends = ends

    def get(self, resource_id: str, api_version: str, **query: str) -> dict[str, Any]:
        return {"id": "/vm", "name": "trainer", "properties": {"instanceView": {"statuses": []}}}

    def post(self, path: str, api_version: str) -> dict[str, Any]:
        self.asked.append(path)
        raise self.ends

    def close(self) -> None:
        pass


@pytest.mark.parametrize("ends", [KeyboardInterrupt(), requests.ConnectionError("no route")], ids=["interrupted", "unreached"])
def test_a_machine_that_a_run_was_starting_is_deallocated_or_said_to_cost(
    ends: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm, said = Unreached(VIEW.connection, ends), list[str]()
    monkeypatch.setattr(run, "Arm", lambda connection: arm)
    wanted = VmRequest(SCRIPT, method=RunMethod.PYTHON, start=True, stop_after=True)
    output = Output(said.append, said.append, said.append)
    with pytest.raises(type(ends)), run.plan(VIEW, "trainer", wanted, output):
        pass
    assert arm.asked == ["/vm/start", "/vm/deallocate"]
    assert said[-1].startswith(f"trainer may still be running and billed ({str(ends) or 'interrupted'}); to stop it: ")
