"""What is sent to Batch: the bodies of a job and of its tasks, as its API writes them."""

import shlex
from typing import Any

from azure_gpu.formats.task_file import Output, ResourceFile, Task, TaskFile
from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.run.context import of_folder, of_script
from azure_gpu_operations.run.on_batch import plan
from azure_gpu_operations.run.on_batch.plan import Image, Placed, Storage
from azure_gpu_operations.run.on_batch.request import BatchRequest
from azure_gpu_operations.run.target import Target

IDENTITY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"
POOL = PoolFacts("train-1a2b3c4d", "Standard_NC4as_T4_v3", identities=(IDENTITY,))
MPI = POOL._replace(id="mpi-1a2b3c4d", inter_node=True, mpi="hpcx")
STORAGE = Storage("https://store.blob.core.windows.net/", "runs", IDENTITY)
CONTEXT = of_script("train.py", "print(1)\n", "", "python:3.11-slim")
SCRIPT = Target(CONTEXT)
URL = "https://store.blob.core.windows.net/runs/scripts/abc/train.py"
FILES = Placed(files={"train.py": URL}, storage=STORAGE)


def task(**fields: Any) -> Task:
    return Task(**{"id": "main", "command": "", "path": "TARGET", **fields})


def body(one: Task, target: Target, pool: PoolFacts = POOL, placed: Placed = FILES, **fields: Any) -> dict[str, Any]:
    wanted = BatchRequest(target, TaskFile((one,)), **fields)
    return plan.task_of("run-x", one, pool, wanted, placed).as_dict()


def test_a_script_comes_onto_each_node_once_by_the_jobs_preparation() -> None:
    wanted = BatchRequest(SCRIPT, TaskFile((task(),)))
    job = plan.job_of("run-x", POOL, wanted, FILES).as_dict()
    assert job["poolInfo"] == {"poolId": "train-1a2b3c4d"}
    preparation = job["jobPreparationTask"]
    assert preparation["waitForSuccess"] is True
    assert preparation["resourceFiles"] == [
        {"httpUrl": URL, "filePath": "train.py", "identityReference": {"resourceId": IDENTITY}}
    ]
    sent = body(task(command="--epochs 3"), SCRIPT)
    assert sent["commandLine"] == "/bin/bash -c 'exec python3 \"$AZ_BATCH_JOB_PREP_WORKING_DIR/train.py\" --epochs 3'"
    assert sent["environmentSettings"] == [{"name": "PYTHONUNBUFFERED", "value": "1"}]
    assert "resourceFiles" not in sent


def test_an_image_is_pulled_with_the_pools_identity_and_gets_its_arguments() -> None:
    image = Image("reg.azurecr.io/run/train:abc", "reg.azurecr.io", IDENTITY)
    sent = body(task(command="--epochs 3"), SCRIPT, placed=Placed(image=image))
    assert sent["commandLine"] == "--epochs 3"
    assert sent["containerSettings"] == {
        "imageName": "reg.azurecr.io/run/train:abc",
        "registry": {"registryServer": "reg.azurecr.io", "identityReference": {"resourceId": IDENTITY}},
        "workingDirectory": "taskWorkingDirectory",
    }


def test_an_image_that_everybody_may_pull_needs_no_registry_and_runs_where_it_says() -> None:
    name = "docker.io/library/python:3.11-slim"
    sent = body(task(command="python -c 'print(1)'"), Target(image=name), placed=Placed(image=Image(name, "docker.io")))
    assert sent["containerSettings"] == {"imageName": name, "workingDirectory": "containerImageDefault"}


def test_variables_of_the_command_line_count_more_than_those_of_the_file() -> None:
    one = task(environment={"COLOUR": "red", "SIZE": "1"})
    sent = body(one, SCRIPT._replace(environment={"COLOUR": "blue"}))
    assert {each["name"]: each["value"] for each in sent["environmentSettings"]} == {
        "PYTHONUNBUFFERED": "1",
        "COLOUR": "blue",
        "SIZE": "1",
    }


def test_limits_of_a_task_count_more_than_those_of_the_run() -> None:
    assert body(task(), SCRIPT, timeout_minutes=90.0, retries=2)["constraints"] == {
        "maxWallClockTime": "PT01H30M00S",
        "maxTaskRetryCount": 2,
    }
    own = body(task(timeout_minutes=5, retries=0, keep_minutes=60), SCRIPT, timeout_minutes=90.0, retries=2)
    assert own["constraints"] == {"maxWallClockTime": "PT05M00S", "retentionTime": "PT01H00M00S", "maxTaskRetryCount": 0}


def test_outputs_go_to_a_folder_of_the_task_by_the_pools_identity() -> None:
    sent = body(task(outputs=(Output("model.npz"), Output("*.csv", "tables", "2026"))), SCRIPT, outputs=("results/*.json",))
    places = [(each["filePattern"], each["destination"]["container"]) for each in sent["outputFiles"]]
    reference = {"resourceId": IDENTITY}
    runs = "https://store.blob.core.windows.net/runs"
    assert places == [
        ("results/*.json", {"path": "run-x/main", "containerUrl": runs, "identityReference": reference}),
        ("model.npz", {"path": "run-x/main/model.npz", "containerUrl": runs, "identityReference": reference}),
        (
            "*.csv",
            {"path": "2026", "containerUrl": "https://store.blob.core.windows.net/tables", "identityReference": reference},
        ),
    ]
    assert {each["uploadOptions"]["uploadCondition"] for each in sent["outputFiles"]} == {"taskcompletion"}


def test_files_of_other_accounts_are_fetched_without_our_identity() -> None:
    files = (ResourceFile(url="https://elsewhere.org/data.csv?x=1", mode="0750"), ResourceFile(container="input", prefix="a/"))
    sent = body(task(resource_files=files), SCRIPT)
    assert sent["resourceFiles"] == [
        {"httpUrl": "https://elsewhere.org/data.csv?x=1", "filePath": "data.csv", "fileMode": "0750"},
        {
            "storageContainerUrl": "https://store.blob.core.windows.net/input",
            "blobPrefix": "a/",
            "identityReference": {"resourceId": IDENTITY},
        },
    ]


def test_a_task_over_two_nodes_is_started_by_mpirun_and_has_its_files_on_both() -> None:
    target = SCRIPT._replace(environment={"COLOUR": "blue"})
    sent = body(task(command="--n 3", nodes=2), target, MPI, outputs=("out/*",), processes=4)
    several = sent["multiInstanceSettings"]
    assert several["numberOfInstances"] == 2
    assert [each["filePath"] for each in several["commonResourceFiles"]] == ["train.py"]
    assert "mpirun" in sent["commandLine"]
    assert "ppr:4:node" in sent["commandLine"], "so many processes on each node"
    assert 'env PYTHONUNBUFFERED=1 COLOUR=blue python3 "$AZ_BATCH_TASK_SHARED_DIR/train.py" --n 3' in sent["commandLine"]
    assert sent["outputFiles"][0]["filePattern"] == "../out/*", "mpirun works in the folder above the task's own"
    assert plan.job_of("run-x", MPI, BatchRequest(target, TaskFile((task(nodes=2),))), FILES).job_preparation_task is None


def test_where_the_pool_has_no_mpi_each_node_runs_the_script_as_a_worker() -> None:
    pool = MPI._replace(mpi="", image_mpi="hpcx")
    sent = body(task(command="--n 3", nodes=2), SCRIPT, pool, outputs=("out/*",), gpus=1)
    several = sent["multiInstanceSettings"]
    assert several["numberOfInstances"] == 2
    assert [each["filePath"] for each in several["commonResourceFiles"]] == ["train.py"]
    program = 'python3 "$AZ_BATCH_TASK_SHARED_DIR/train.py" --n 3'
    assert sent["commandLine"].endswith(f"exec {program}'")
    others = several["coordinationCommandLine"].partition('if [ "$AZ_BATCH_IS_CURRENT_NODE_MASTER" != true ]; then ')[2]
    assert f"(set +e; {program}; echo $? > " in others, "the first worker is the primary's own command"
    assert {"name": "CUDA_VISIBLE_DEVICES", "value": "0"} in sent["environmentSettings"]
    assert sent["outputFiles"][0]["filePattern"] == "out/*"
    assert "mpirun" in body(task(nodes=2), SCRIPT, pool, processes=1)["commandLine"], "that of the image, where it is asked for"


def test_in_containers_workers_share_the_nodes_network_and_each_command_is_whole() -> None:
    folder = of_folder("mnist", {"Dockerfile": b'FROM a\nENTRYPOINT ["python", "-m", "mnist"]\n'})
    image = Image("reg.azurecr.io/mnist:abc", "reg.azurecr.io", IDENTITY)
    sent = body(
        task(command="--name 'a b'", nodes=3), Target(folder), MPI._replace(has_containers=True), Placed(image=image), gpus=0
    )
    assert sent["containerSettings"]["containerRunOptions"] == "--network host --entrypoint="
    *_, script, name, one, two, three, four, five = shlex.split(sent["commandLine"])
    assert script.endswith('exec "${1}" "${2}" "${3}" "${4}" "${5}"')
    assert (name, one, two, three, four, five) == ("sh", "python", "-m", "mnist", "--name", "a b")
    assert shlex.split(sent["multiInstanceSettings"]["coordinationCommandLine"])[3:] == [
        "sh",
        "python",
        "-m",
        "mnist",
        "--name",
        "a b",
    ]
    assert sent["environmentSettings"] == [{"name": "CUDA_VISIBLE_DEVICES", "value": "-1"}]


def test_whoever_writes_a_coordination_command_starts_the_processes_as_well() -> None:
    sent = body(task(command="mpirun ./solve", nodes=3, coordination_command="/bin/true"), Target(), MPI, Placed())
    assert sent["commandLine"] == "mpirun ./solve"
    assert sent["multiInstanceSettings"] == {"numberOfInstances": 3, "coordinationCommandLine": "/bin/true"}


def test_what_follows_from_a_failure_is_said_to_the_service() -> None:
    one = task(on_failure_job="terminate", on_failure_dependents="satisfy", depends_on=("a",))
    sent = body(one, SCRIPT)
    options = {"jobAction": "terminate", "dependencyAction": "satisfy"}
    assert sent["exitConditions"] == {"default": options, "preProcessingError": options}
    assert sent["dependsOn"] == {"taskIds": ["a"]}
    job = plan.job_of("run-x", POOL, BatchRequest(SCRIPT, TaskFile((one,), priority=7, max_minutes=60)), FILES).as_dict()
    assert job["usesTaskDependencies"] is True
    assert job["onTaskFailure"] == "performexitoptionsjobaction"
    assert (job["priority"], job["constraints"]) == (7, {"maxWallClockTime": "PT01H00M00S"})


def test_a_secret_is_a_file_that_the_node_fetches_and_no_variable() -> None:
    target = SCRIPT._replace(secrets={"TOKEN": "hunter2"})
    sent = body(task(), target, placed=FILES._replace(secrets_url=f"{STORAGE.url()}/run-x/environment"))
    assert sent["resourceFiles"] == [
        {
            "httpUrl": "https://store.blob.core.windows.net/runs/run-x/environment",
            "filePath": ".run-environment",
            "identityReference": {"resourceId": IDENTITY},
        }
    ]
    assert "hunter2" not in str(sent)
    assert 'rm -f "$AZ_BATCH_TASK_WORKING_DIR/.run-environment"' in sent["commandLine"]
