"""`run --on local`: a script and a workload in an environment of their own, or in a container, and the exit code of what ran."""

import sys
from pathlib import Path

import pytest

from azure_gpu_operations.__main__ import main
from azure_gpu_operations.run.context import BASE_IMAGE, of_folder, of_script
from azure_gpu_operations.run.on_local import run, run as local_run
from azure_gpu_operations.run.on_local.plan import Plan, container_command, resolve
from azure_gpu_operations.run.target import RunMethod, Target
from tests.support.embedded import CHECKOUT
from tests.support.scripted_runs import ScriptedRun, plan_of

SCRIPT = Target(of_script("train.py", "print(1)\n", "numpy\n", BASE_IMAGE), environment={"A": "1"})
DOCKERFILE = b"""FROM python:3.11
ENV MODE=quick NVIDIA_VISIBLE_DEVICES=all PATH=/x:$PATH
COPY . .
ENTRYPOINT ["python", "serve.py", "-m", "x"]
"""
FOLDER = Target(
    of_folder("app", {"Dockerfile": DOCKERFILE, "serve.py": b"", "requirements.lock": b"a==1\n", "requirements.txt": b"a\n"})
)
COMPILED = Target(of_folder("adder", {"Dockerfile": b'FROM x\nENTRYPOINT ["/app/adder"]\n'}))
# An nvidia-smi of a machine with the document's GPU.
SMI = "#!/bin/sh\necho 'Tesla K80, 3.7, 823.5, 000006C3:00:00.0, 11438, 11377, 470.82.01'\n"


def planned(target: Target, *tools: str, way: str = "", script: Path | None = None, folder: Path | None = None) -> Plan:
    plan, problems = resolve(target, ["--epochs", "3"], way, script, folder, tools)
    assert problems == []
    assert plan is not None
    return plan


def refused(target: Target, *tools: str, way: str = "", script: Path | None = None) -> str:
    plan, problems = resolve(target, [], way, script, None, tools)
    assert plan is None
    return "; ".join(map(str, problems))


def test_a_script_runs_where_it_lies_with_its_requirements_and_no_container() -> None:
    plan = planned(SCRIPT, "docker", script=Path("/here/train.py"))
    assert (plan.method, plan.words) == (RunMethod.PYTHON, ("-u", "/here/train.py", "--epochs", "3"))
    assert (plan.requirements, plan.locked, plan.environment) == ("numpy\n", False, {"A": "1"})


def test_a_folder_starts_what_its_dockerfile_says_from_its_lock(tmp_path: Path) -> None:
    (tmp_path / "serve.py").touch()
    plan = planned(FOLDER, folder=tmp_path)
    assert plan.words == (str(tmp_path / "serve.py"), "-m", "x", "--epochs", "3")
    assert (plan.requirements, plan.locked, plan.search) == ("a==1\n", True, str(tmp_path))
    assert plan.environment == {"MODE": "quick"}  # what a container's GPUs are, and its PATH, is none of this machine's


def test_what_is_no_python_takes_a_container_and_says_so_where_there_is_none() -> None:
    assert planned(COMPILED, "podman", "docker").engine == "docker"
    assert planned(Target(image="me/app:1"), "podman").engine == "podman"
    assert "neither docker nor podman is installed" in refused(COMPILED)
    assert "its command isn't Python" in refused(Target(image="me/app:1"), "docker", way="python")
    assert planned(SCRIPT, "docker", way="container", script=Path("/x.py")).method is RunMethod.CONTAINER


def test_a_container_gets_the_gpus_of_its_engine_and_secrets_by_name_alone() -> None:
    docker = container_command(planned(COMPILED, "docker"), "image", "name", gpus=True, secrets=["TOKEN"])
    assert docker == ["docker", "run", "--rm", "--name", "name", "--gpus", "all", "-e", "TOKEN", "image", "--epochs", "3"]
    podman = container_command(planned(COMPILED, "podman"), "image", "name", gpus=True, secrets=[])
    assert podman[5:7] == ["--device", "nvidia.com/gpu=all"]
    assert "--gpus" not in container_command(planned(COMPILED, "docker"), "image", "name", gpus=False, secrets=[])


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script, and a PATH with nothing of NVIDIA's on it."""
    file = tmp_path / "hello.py"
    file.write_text("import os, sys\nprint('hello', sys.argv[1:], os.environ.get('TOKEN'))\nsys.exit(int(os.environ['CODE']))\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return file


@pytest.mark.slow
def test_a_script_runs_here_without_a_stack_and_its_exit_code_is_ours(
    script: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")
    words = ["run", str(script), "--on", "local", "--env", "CODE=7", "--secret-env", "TOKEN", "--", "a", "b c"]
    assert main(words) == 7
    out, err = capfd.readouterr()
    assert out == "hello ['a', 'b c'] hunter2\n"
    assert err.splitlines() == [
        "no GPU found (nvidia-smi not found): running on the CPU",
        "started hello.py here",
        "here: exit code 7; nothing is billed",
    ]


@pytest.mark.slow
def test_the_gpu_of_this_machine_is_confirmed_in_the_documents_lines(
    script: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvidia-smi").write_text(SMI)
    (tmp_path / "bin" / "nvidia-smi").chmod(0o755)
    assert main(["run", str(script), "--on", "local", "--env", "CODE=0"]) == 0
    assert capfd.readouterr().err.splitlines()[:5] == [
        "name: Tesla K80",
        "major: 3 minor: 7 memoryClockRate (GHz) 0.8235",
        "pciBusID 06c3:00:00.0",
        "Total memory: 11.17GiB",
        "Free memory: 11.11GiB",
    ]


@pytest.mark.slow
def test_what_takes_too_long_is_ended_and_what_a_signal_ends_has_a_shells_code(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text("import time\ntime.sleep(600)\n")
    assert main(["run", str(slow), "--on", "local", "--timeout", "0.01"]) == 124
    assert "stopped after its timeout" in capfd.readouterr().err
    killed = tmp_path / "killed.py"
    killed.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert main(["run", str(killed), "--on", "local"]) == 137


def test_requirements_beside_a_script_are_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Plan] = []
    plan = plan_of(ScriptedRun())
    monkeypatch.setattr(local_run, "plan", lambda planned, *others: asked.append(planned) or plan(others[-1]))
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / "requirements.txt").write_text("six==1.17.0\n")
    assert main(["run", str(tmp_path / "train.py"), "--on", "local"]) == 0
    assert asked[0].requirements == "six==1.17.0\n"


def test_an_environment_is_made_once_for_each_content_and_a_broken_one_is_never_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said: list[str] = []
    made: list[list[str]] = []

    def install(words: list[str]) -> None:
        made.append(words)
        if "venv" in words:
            python = Path(words[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.touch()
        elif "broken" in Path(words[-1]).read_text():
            raise run.RunError("no such package")

    monkeypatch.setattr(run, "_done", install)
    first = run.python_of("a==1\n", locked=True, say=said.append)
    assert first.exists()
    assert "--require-hashes" in made[-1]
    count = len(made)
    assert run.python_of("a==1\n", locked=True, say=said.append) == first
    assert len(made) == count
    assert run.python_of("a==2\n", locked=True, say=said.append) != first
    with pytest.raises(run.RunError, match="no such package"):
        run.python_of("broken\n", locked=False, say=said.append)
    assert [each.name for each in run.cache().iterdir() if not each.name.startswith("run-")] == []
    assert len(list(run.cache().iterdir())) == 2
    assert run.python_of("  \n", locked=False, say=said.append) == Path(sys.executable)


@pytest.mark.slow
def test_the_workload_mnist_runs_from_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "mnist", "--on", "local", "--", "--steps", "5", "--min-accuracy", "0"]) == 0
    assert "Accuracy at step 5" in capfd.readouterr().out
    assert not (CHECKOUT / "output").exists()
