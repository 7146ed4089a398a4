"""What a run sends to a workspace of Azure ML: an environment, code, and a job whose command a real bash runs."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from azure_gpu.formats.build_context import Context
from azure_gpu_operations.machine_learning import job_log
from azure_gpu_operations.run import options as run_options
from azure_gpu_operations.run.context import BASE_IMAGE, of_folder, of_script
from azure_gpu_operations.run.on_ml_cluster import plan
from azure_gpu_operations.run.on_ml_cluster.request import MlRequest, check_cluster, quota_problems, resolve
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.run.workers import Group
from tests.support.patience import SECONDS

SCRIPT = of_script("train.py", "import sys\nprint(sys.argv[1:])\nsys.exit(3)\n", "numpy\n", BASE_IMAGE)


def folder(dockerfile: str) -> Context:
    return of_folder("app", {"Dockerfile": dockerfile.encode(), "app.py": b""})


def text(target: Target, *arguments: str) -> str:
    found, problems = plan.command(MlRequest(target, arguments))
    assert problems == []
    return found


def test_a_scripts_environment_stays_when_the_script_changes_and_goes_when_its_requirements_do() -> None:
    other = of_script("train.py", "print(2)\n", "numpy\n", BASE_IMAGE)
    needs_more = of_script("train.py", "print(2)\n", "numpy\npandas\n", BASE_IMAGE)
    first = plan.image_context(SCRIPT)
    assert first.image == plan.image_context(other).image != plan.image_context(needs_more).image
    assert set(first.files) == {"Dockerfile", "requirements.txt"}
    assert first.files["Dockerfile"].startswith(f"FROM {BASE_IMAGE}\n".encode())
    assert b"pip install" in first.files["Dockerfile"]
    plain = plan.image_context(of_script("a.py", "1\n", "", "me/base:1"))
    assert plain.files["Dockerfile"].startswith(b"FROM me/base:1\n")
    assert b"pip" not in plain.files["Dockerfile"]
    assert plan.code_files(SCRIPT) == {"train.py": SCRIPT.files["train.py"]}
    assert plan.code_files(folder("FROM x\n")) == {}


@pytest.mark.slow
def test_the_command_runs_the_script_with_its_words_and_tells_its_code_last(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(SCRIPT.files["train.py"])
    command = text(Target(SCRIPT), "a", "b c", "$(id)", "it's")
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 3, done.stderr
    assert done.stdout == "['a', 'b c', '$(id)', \"it's\"]\nazure-gpu: exit 3\n"
    assert done.stderr.startswith("azure-gpu: ")


@pytest.mark.slow
def test_a_folder_starts_what_its_dockerfile_says_in_the_folder_that_it_says(tmp_path: Path) -> None:
    dockerfile = f'FROM x\nWORKDIR {tmp_path}\nENTRYPOINT ["pwd"]\n'
    command = text(Target(folder(dockerfile)), "-L")
    done = subprocess.run(["sh", "-c", command], cwd="/", capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.stdout == f"{tmp_path}\nazure-gpu: exit 0\n"
    _, problems = plan.command(MlRequest(Target(folder("FROM x\nENTRYPOINT python app.py\n"))))
    assert "Azure ML jobs require a command" in problems[0].message


@pytest.mark.parametrize(
    ("most", "size", "group", "wrong"),
    [
        (4, "Standard_NC4as_T4_v3", Group(4, 1), []),
        (4, "Standard_NC64as_T4_v3", Group(1, 2), []),
        (4, "Standard_Brandnew_v9", Group(1, 2), []),  # a size that isn't known refuses nothing
        (2, "Standard_NC4as_T4_v3", Group(4, 2), ["--nodes", "--gpus"]),
        (1, "Standard_HB120rs_v3", Group(1, 1), ["--gpus"]),
    ],
)
def test_what_a_cluster_has_too_few_of_is_refused_before_anything_starts(
    most: int, size: str, group: Group, wrong: list[str]
) -> None:
    settings = {"vmSize": size, "scaleSettings": {"maxNodeCount": most}}
    assert [problem.path for problem in check_cluster("gpu", settings, group)] == wrong


class Log:
    """Blobs of a workspace's storage."""

    def __init__(self, *names: str) -> None:
        self._names = [f"ExperimentRun/dcid.run-1/user_logs/{name}" for name in names]

    def names(self, container: str, prefix: str) -> Iterator[str]:
        assert container == "azureml"
        return (name for name in self._names if name.startswith(prefix))

    def read_from(self, container: str, path: str, start: int) -> bytes | None:
        return f"{container} {path.rsplit('/', 1)[1]} {start}".encode()


@pytest.mark.parametrize(
    ("names", "read"),
    [
        ((), None),
        (("std_log.txt",), b"azureml std_log.txt 7"),
        (("std_log_process_1.txt", "std_log_process_0.txt"), b"azureml std_log_process_0.txt 7"),
        (("std_log_process_00.txt", "std_log_process_10.txt"), b"azureml std_log_process_00.txt 7"),
        (("std_log_process_1.txt",), None),
    ],
)
def test_the_log_is_that_of_the_first_process(names: tuple[str, ...], read: bytes | None) -> None:
    assert job_log.Reader(Log(*names), "run-1").read_from(7) == read


@pytest.mark.parametrize(
    ("target", "wrong"),
    [
        (Target(image="a:1"), "require a command and ignore the image's"),
        (Target(SCRIPT, secrets={"TOKEN": "hunter2"}), "visible to all readers of the workspace"),
    ],
)
def test_what_a_cluster_can_not_be_asked_is_refused(target: Target, wrong: str) -> None:
    _, problems = resolve(run_options.parsed(["--on", "cluster"]), target, None)
    told = "; ".join(map(str, problems))
    assert wrong in told
    assert "hunter2" not in told


@pytest.mark.parametrize(
    ("nodes", "priority", "refused"),
    [(2, "Dedicated", False), (3, "Dedicated", True), (1, "LowPriority", False), (2, "LowPriority", True)],
)
def test_more_nodes_than_the_regions_quota_is_refused_before_anything_starts(nodes: int, priority: str, refused: bool) -> None:
    compute = {
        "location": "eastus",
        "properties": {"properties": {"vmSize": "Standard_NC4as_T4_v3", "vmPriority": priority}},
    }
    listed = [
        {"type": f"Microsoft.MachineLearningServices{kind}usages", "name": {"value": name}, "limit": limit}
        for kind, name, limit in (
            ("/vmFamily/dedicatedCores/", "Standard NCASv3_T4 Family", 8),  # two nodes of four vCPUs
            ("/totalDedicatedCores/", "Total Cluster Dedicated Regional vCPUs", 100),
            ("/totalLowPriorityCores/", "Total Cluster LowPriority Regional vCPUs", 4),
        )
    ]
    found = quota_problems(compute, Group(nodes), listed)
    assert [problem.path for problem in found] == ["--nodes"] * refused
    assert quota_problems(compute, Group(nodes), []) == [], "a list that says nothing refuses nothing"
