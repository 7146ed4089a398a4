"""`python -m operations import` of a Batch Shipyard configuration: its pool with successors, its jobs as files of tasks."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.catalog.problems import errors
from azure_gpu.formats import task_file
from azure_gpu.formats.stack_file import configuration
from azure_gpu.stack import settings as stack_settings
from azure_gpu_operations.__main__ import main
from tests.components.settings_of import pure_problems
from tests.support.shipyard_files import (
    CREDENTIALS,
    CUSTOM_POOL,
    MPI,
    OLD,
    SECRETS,
    TRAIN,
    TRAIN_POOL,
    VOLUMES_CONFIG,
    WINDOWS_POOL,
)

TODAY = "2026-11-21"
THEN = "2018-12-17"
Capture = pytest.CaptureFixture[str]
Files = list[tuple[str, str]]
OWN: Files = [("pool.yaml", CUSTOM_POOL), ("config.yaml", VOLUMES_CONFIG), ("credentials.yaml", CREDENTIALS)]
STACK = """\
config:
  azure-gpu:team: t
  azure-gpu:location: eastus
  azure-gpu:as_of: "2026-11-21"
  azure-gpu:foundation:
    resource_group: create
    # an identity that others made
    identity: create
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: Capture, files: Files, *arguments: str, as_of: str = TODAY, name: str = "yard") -> tuple[int, str, str]:
    Path("yard").mkdir(exist_ok=True)
    for file, text in files:
        (Path("yard") / file).write_text(text, encoding="utf-8")
    code = main(["import", name, "--as-of", as_of, *arguments])
    output = capsys.readouterr()
    return code, output.out, output.err


def taken(capsys: Capture, files: Files, *arguments: str, **more: Any) -> dict[str, Any]:
    code, out, err = run(capsys, files, *arguments, **more)
    assert (code, [line for line in err.splitlines() if not line.startswith("warning: ")]) == (0, []), err
    return yaml.safe_load(out)


def words_of(out: str) -> str:
    """The text without the comments' wrapping."""
    return " ".join(out.replace("#", " ").split())


def test_a_pool_of_a_size_that_is_gone_comes_back_on_its_successor(capsys: Capture) -> None:
    code, out, err = run(capsys, TRAIN, "--location", "eastus")
    assert (code, err) == (0, "")
    assert yaml.safe_load(out) == {
        "azure-gpu:foundation": {"resource_group": "create", "identity": "create", "storage": "create"},
        "azure-gpu:batch_account": "create",
        "azure-gpu:pools": {
            "digits-gpu": {
                "size": "Standard_NC4as_T4_v3",
                "dedicated_nodes": 2,
                "containers": {"images": ["docker.io/library/python:3.11-slim"]},
                "expires_after": "2026-11-28",
                "as_of": TODAY,
            }
        },
    }
    told = words_of(out)
    assert "yard/pool.yaml:8: pool_specification.vm_size: Standard_NC6 retired on 2023-09-06" in told
    assert "Standard_NC4as_T4_v3 (0.526 USD/hour" in told
    assert "microsoft-dsvm/ubuntu-hpc/2404 brings the NVIDIA driver for the T4 and a container runtime" in told
    assert "left out, yard/pool.yaml:13: pool_specification.ssh: nodes get no user of their own" in told
    assert "azure-gpu:pools: digits-gpu: Azure refuses this pool today." in told
    assert "The job digits has 5 tasks; --tasks FOLDER writes them to FOLDER/digits.yaml." in told


def test_at_its_own_day_the_pool_is_taken_as_it_was(capsys: Capture) -> None:
    pool = taken(capsys, MPI, "--location", "westus", as_of=THEN)["azure-gpu:pools"]["solver"]
    assert (pool["size"], pool["image"], pool["rdma"]) == ("Standard_H16r", "OpenLogic:CentOS-HPC:7.4", True)


def test_at_its_own_day_docker_on_a_plain_image_becomes_an_image_with_containers(capsys: Capture) -> None:
    code, out, _ = run(capsys, TRAIN, "--location", "southcentralus", as_of=THEN)
    assert code == 0
    pool = yaml.safe_load(out)["azure-gpu:pools"]["digits-gpu"]
    assert pool["size"] == "Standard_NC6"
    assert "image" not in pool
    assert "microsoft-azure-batch/ubuntu-server-container/16-04-lts brings the NVIDIA driver for the K80" in words_of(out)
    assert "Azure refuses" not in out


def test_an_mpi_pool_moves_to_infiniband_of_today(capsys: Capture) -> None:
    code, out, _ = run(capsys, MPI, "--location", "eastus")
    assert code == 0
    pool = yaml.safe_load(out)["azure-gpu:pools"]["solver"]
    assert (pool["size"], pool["inter_node"], pool["rdma"]) == ("Standard_HB120rs_v3", True, True)
    assert "image" not in pool
    assert "batch.node.centos 7 retired on 2024-06-30" in words_of(out)


def test_infiniband_that_nobody_uses_isnt_paid_for(capsys: Capture) -> None:
    code, out, _ = run(capsys, OLD, "--location", "eastus")
    assert code == 0
    assert yaml.safe_load(out)["azure-gpu:pools"]["old"]["size"] == "Standard_NC64as_T4_v3"
    assert "Standard_NC64as_T4_v3 is taken: the nodes don't talk to each other" in words_of(out)


def test_a_managed_image_is_built_anew(capsys: Capture) -> None:
    code, out, _ = run(capsys, OWN, "--location", "eastus")
    assert code == 0
    pool = yaml.safe_load(out)["azure-gpu:pools"]["own-image"]
    assert not pool.keys() & {"image", "image_id", "node_agent"}
    assert pool["spot_nodes"] == 5
    told = words_of(out)
    assert "a Batch pool from a managed image or a VHD retired on 2026-03-31" in told
    assert "a custom image is built again as in examples/gallery-image" in told
    assert "pulumi config set --secret --path azure-gpu:pools.own-image.mounts.azfile.azure_file.key" in told


def test_windows_containers_have_no_image_today(capsys: Capture) -> None:
    files = [("pool.yaml", WINDOWS_POOL.replace("STANDARD_D2_V2", "STANDARD_NC6"))]
    code, out, err = run(capsys, files, "--location", "eastus")
    assert (code, yaml.safe_load(out)) == (1, None)
    assert "# azure-gpu:pools:" in out
    assert "what could be read is printed" in err


CASES: dict[str, Files] = {"train": TRAIN, "mpi": MPI, "old": OLD, "own": OWN}


@pytest.mark.parametrize("case", sorted(CASES))
@pytest.mark.parametrize("as_of", [THEN, TODAY])
def test_what_is_printed_is_all_that_the_program_needs_once_its_secrets_are_set(capsys: Capture, case: str, as_of: str) -> None:
    code, out, err = run(capsys, CASES[case], "--location", "southcentralus", as_of=as_of)
    assert code == 0, err
    for secret in SECRETS:
        assert secret not in out + err
    config = {"azure-native:subscriptionId": "0", "azure-gpu:team": "t", "azure-gpu:location": "southcentralus"}
    config |= yaml.safe_load(out)
    for line in out.splitlines():
        if line.startswith("#   pulumi config set --secret --path "):
            *path, last = shlex.split(line)[6].removeprefix("azure-gpu:").split(".")
            at: Any = config[f"azure-gpu:{path[0]}"]
            for step in path[1:]:
                at = at[step]
            at[last] = "a2V5"
    read = stack_settings.read(configuration(yaml.safe_dump({"config": config})), as_of)
    assert errors(pure_problems(read, "azure-gpu", "dev")) == []


def test_the_jobs_are_written_as_files_that_run_takes(capsys: Capture, folder: Path) -> None:
    code, out, _ = run(capsys, TRAIN, "--location", "eastus", "--tasks", "tasks")
    assert code == 0
    file = folder / "tasks" / "digits.yaml"
    job, problems = task_file.read(file.read_text(encoding="utf-8"), "digits.yaml")
    assert (problems, job and len(job.tasks), job and job.pool) == ([], 5, "digits-gpu")
    command = "python -m operations run --on batch --pool digits-gpu --tasks tasks/digits.yaml --stack STACK"
    assert command in words_of(out)
    # Again it is the same; with other tasks in the file it is left alone.
    assert run(capsys, TRAIN, "--location", "eastus", "--tasks", "tasks")[0] == 0
    file.write_text("- mine\n", encoding="utf-8")
    code, _, err = run(capsys, TRAIN, "--location", "eastus", "--tasks", "tasks")
    assert code == 1
    assert "tasks/digits.yaml is there already, with other tasks" in err
    assert file.read_text(encoding="utf-8") == "- mine\n"


def test_one_of_the_files_brings_the_others_beside_it(capsys: Capture) -> None:
    whole = taken(capsys, TRAIN, "--location", "eastus")
    assert taken(capsys, TRAIN, "--location", "eastus", name="yard/pool.yaml") == whole
    assert taken(capsys, TRAIN, "--location", "eastus", name="yard/jobs.yaml") == whole


def test_the_region_is_that_of_the_account_where_nobody_says_one(capsys: Capture) -> None:
    _, _, err = run(capsys, TRAIN, as_of="2015-01-01")
    assert "southcentralus" in err


def test_write_adds_what_the_stack_file_lacks_and_leaves_every_line(capsys: Capture, folder: Path) -> None:
    file = folder / "Pulumi.lab.yaml"
    file.write_text(STACK, encoding="utf-8")
    Path("yard").mkdir()
    for name, text in TRAIN:
        (Path("yard") / name).write_text(text, encoding="utf-8")
    assert main(["import", "yard", "--stack", "lab", "--config-folder", ".", "--write", "--tasks", "tasks"]) == 0
    assert "--stack lab" in capsys.readouterr().out
    text = file.read_text(encoding="utf-8")
    assert text.startswith(STACK)
    said = yaml.safe_load(text)["config"]
    assert said["azure-gpu:foundation"] == {"resource_group": "create", "identity": "create", "storage": "create"}
    assert said["azure-gpu:batch_account"] == "create"
    assert "as_of" not in said["azure-gpu:pools"]["digits-gpu"]
    # A second pool finds account and storage there; the same pool again is refused and changes nothing.
    (Path("yard") / "pool.yaml").write_text(TRAIN_POOL.replace("digits-gpu", "second"), encoding="utf-8")
    (Path("yard") / "jobs.yaml").unlink()
    assert main(["import", "yard", "--stack", "lab", "--config-folder", ".", "--write"]) == 0
    text = file.read_text(encoding="utf-8")
    assert set(yaml.safe_load(text)["config"]["azure-gpu:pools"]) == {"digits-gpu", "second"}
    assert main(["import", "yard", "--stack", "lab", "--config-folder", ".", "--write"]) == 1
    assert "has an entry second already" in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == text


def test_programs_get_the_same(capsys: Capture) -> None:
    code, out, _ = run(capsys, TRAIN, "--location", "eastus", "--json")
    assert code == 0
    data = json.loads(out)
    assert (data["taken"], data["pool"], data["replaced"]) == (True, "digits-gpu", True)
    (job,) = data["jobs"]
    assert len(job["tasks"]["tasks"]) == 5
    assert job["command"][:6] == ["python", "-m", "operations", "run", "--on", "batch"]
    for secret in SECRETS:
        assert secret not in out


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([("notes.yaml", "a: b\n")], "the folder has no pool and no jobs of Batch Shipyard"),
        ([("pool.yaml", TRAIN_POOL.replace("dedicated: 2", "dedicated: -2"))], "vm_count"),
        ([("pool.yaml", TRAIN_POOL.replace("  max_tasks_per_node: 1", "  max_tasks_per_node: 900"))], "max_tasks_per_node"),
        ([("pool.yaml", TRAIN_POOL + "  autoscale: {formula: '$TargetNodes = $Wishes;'}\n")], "autoscale"),
        ([("pool.yaml", "pool_specification:\n\t- x\n")], "indented with tabs"),
    ],
)
def test_bad_input_is_refused_by_line(capsys: Capture, files: Files, said: str) -> None:
    code, out, err = run(capsys, files, "--location", "eastus")
    assert (code, yaml.safe_load(out)) == (1, None)
    assert any(line.startswith("error: yard") and said in line for line in err.splitlines()), err


def test_all_problems_of_all_files_come_at_once(capsys: Capture) -> None:
    files = [
        ("pool.yaml", TRAIN_POOL.replace("dedicated: 2", "dedicated: two").replace("sku:", "skew:")),
        ("jobs.yaml", "job_specifications:\n- id: j\n  priority: 5000\n  tasks:\n  - {command: x}\n"),
    ]
    code, _, err = run(capsys, files, "--location", "eastus")
    assert code == 1
    for part in ("pool.yaml:10: ", "sku is missing", "jobs.yaml:3: ", "the task has no image"):
        assert part in err


def test_a_dependency_in_a_circle_is_found(capsys: Capture) -> None:
    jobs = "job_specifications:\n- id: j\n  tasks:\n  - {id: a, docker_image: x, command: x, depends_on: [a]}\n"
    code, _, err = run(capsys, [("jobs.yaml", jobs)])
    assert code == 1
    assert "it waits for itself" in err


def test_a_task_that_cant_be_taken_is_a_comment_and_so_are_those_that_wait_for_it(capsys: Capture, folder: Path) -> None:
    jobs = (
        "job_specifications:\n- id: j\n  tasks:\n"
        "  - {id: a, docker_image: x, command: x}\n"
        "  - {id: b, command: no image}\n"
        "  - {id: c, docker_image: x, command: x, depends_on: [b]}\n"
        "  - {id: d, docker_image: x, command: x, depends_on: [a]}\n"
        "  - {id: e, docker_image: x, command: x, multi_instance: {num_instances: 2, mpi: {runtime: openmpi}}}\n"
    )
    code, out, err = run(capsys, [("pool.yaml", TRAIN_POOL), ("jobs.yaml", jobs)], "--location", "eastus", "--tasks", "tasks")
    assert (code, "azure-gpu:pools" in yaml.safe_load(out)) == (0, True), err
    read, _ = task_file.read((folder / "tasks" / "j.yaml").read_text(encoding="utf-8"), "j.yaml")
    assert read
    assert [task.id for task in read.tasks] == ["a", "d"]
    told = words_of(out)
    assert "left out, yard/jobs.yaml:5: job_specifications[0].tasks[1]: the task has no image" in told
    assert "left out, job j: the task c depends on b, which isn't taken" in told
    assert "left out, yard/jobs.yaml:8: job_specifications[0].tasks[4].multi_instance.mpi" in told


def test_json_on_a_single_line_is_read(capsys: Capture) -> None:
    text = json.dumps(yaml.safe_load(TRAIN_POOL))
    code, out, _ = run(capsys, [("pool.json", text)])
    assert code == 0
    assert "azure-gpu:pools:" in out


def test_a_folder_that_is_not_there_is_said(capsys: Capture) -> None:
    code, _, err = run(capsys, [], name="yrad")
    assert code == 1
    assert "error: yrad: it isn't there; fix: paths start at" in err


def test_a_pool_that_is_no_text_is_said(capsys: Capture) -> None:
    Path("yard").mkdir()
    Path("yard/pool.yaml").write_bytes(b"pool_specification:\n  id: \xe9\xff\n")
    code, _, err = run(capsys, [])
    assert code == 1
    assert "pool.yaml: not text in UTF-8" in err


def test_an_image_of_windows_that_is_not_known_is_taken_with_the_agent_of_all_of_them(capsys: Capture) -> None:
    pool = WINDOWS_POOL.replace("2016-Datacenter-with-Containers", "2019-Datacenter-with-Containers-smalldisk")
    code, out, err = run(capsys, [("pool.yaml", pool)])
    assert (code, "unknown image" in err) == (0, True)
    assert "2019-Datacenter-with-Containers-smalldisk" in out
    assert "node_agent: batch.node.windows amd64" in out


def test_another_image_takes_the_place_of_one_that_is_not_known(capsys: Capture) -> None:
    pool = """\
pool_specification:
  id: deb
  vm_configuration:
    platform_image: {publisher: credativ, offer: Debian, sku: "9"}
  vm_size: Standard_NC4as_T4_v3
  vm_count: {dedicated: 1, low_priority: 0}
"""
    code, out, _ = run(capsys, [("pool.yaml", pool)])
    assert code == 0
    told = " ".join(out.replace("#", "").split())
    assert "platform_image: credativ:Debian:9 isn't known, so another is taken" in told
    assert "\n    image:" not in out


def test_logins_of_registries_are_told_without_their_passwords(capsys: Capture) -> None:
    text = "credentials:\n  docker_registry:\n    hub: {username: u, password: hunter2hunter2}\n"
    code, out, err = run(capsys, [("pool.yaml", TRAIN_POOL), ("credentials.yaml", text)])
    assert code == 0
    assert "the login for the registry hub" in " ".join(out.replace("#", "").split())
    assert "hunter2" not in out + err
