"""Tasks as real processes on nodes: folders, variables, files, exit codes, limits of time."""

import json
from pathlib import Path

import pytest

from localazure.batch.command_lines import CommandLineError, words
from tests.localazure.batch.world import SIZE, World, in_world, is_dead, run

NOWHERE = "/nowhere/at/all"


@pytest.mark.slow
@in_world
async def test_a_task_runs_on_a_node_and_its_output_lies_in_its_folder(world: World) -> None:
    pool = await world.pool()
    task = world.task(world.job(pool, "Job1"), "Task1", "/bin/sh -c 'echo out; echo err >&2; echo made > made.txt'")
    info = await world.done(task)
    assert info["exitCode"] == 0
    assert info["result"] == "success"
    node = world.work.node_of(task)
    assert node is not None
    assert node.root == "workitems/Job1/job-1/Task1"
    folder = world.folder(task)
    assert (folder / "stdout.txt").read_text() == "out\n"
    assert (folder / "stderr.txt").read_text() == "err\n"
    assert (folder / "wd" / "made.txt").read_text() == "made\n"


@pytest.mark.slow
def test_a_task_has_the_documented_variables_and_none_of_the_servers_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARM_CLIENT_SECRET", "hidden")

    async def test(world: World) -> None:
        pool = await world.pool("MyPool")
        job = world.job(pool, "Job1", commonEnvironmentSettings=[{"name": "A", "value": "job"}, {"name": "B", "value": "job"}])
        dump = "python3 -c 'import json, os; print(json.dumps(dict(os.environ)))'"
        task = world.task(job, "Task1", dump, environmentSettings=[{"name": "B", "value": "task"}])
        await world.done(task)
        env = json.loads(world.output(task))
        (node,) = world.pools.nodes(pool)
        root = world.pools.node_folder(pool, node["id"])
        expected = {
            "A": "job",
            "B": "task",
            "AZ_BATCH_ACCOUNT_NAME": "tests",
            "AZ_BATCH_ACCOUNT_URL": "https://localhost:1/batch/tests",
            "AZ_BATCH_JOB_ID": "Job1",
            "AZ_BATCH_NODE_ID": node["id"],
            "AZ_BATCH_NODE_IS_DEDICATED": "true",
            "AZ_BATCH_NODE_MOUNTS_DIR": f"{root}/fsmounts",
            "AZ_BATCH_NODE_ROOT_DIR": f"{root}",
            "AZ_BATCH_NODE_SHARED_DIR": f"{root}/shared",
            "AZ_BATCH_NODE_STARTUP_DIR": f"{root}/startup",
            "AZ_BATCH_POOL_ID": "MyPool",
            "AZ_BATCH_TASK_DIR": f"{root}/workitems/Job1/job-1/Task1",
            "AZ_BATCH_TASK_ID": "Task1",
            "AZ_BATCH_TASK_WORKING_DIR": f"{root}/workitems/Job1/job-1/Task1/wd",
        }
        assert {name: env.get(name) for name in expected} == expected
        assert (Path(env["AZ_BATCH_NODE_SHARED_DIR"])).is_dir()
        assert "ARM_CLIENT_SECRET" not in env
        assert "AZ_BATCH_JOB_PREP_DIR" not in env

    run(tmp_path, test)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code"), [("/bin/sh -c 'exit 3'", 3), ("/bin/sh -c 'kill -9 $$'", 137)], ids=["its own", "a signal"]
)
@in_world
async def test_the_exit_code_is_the_commands(world: World, command: str, code: int) -> None:
    task = world.task(world.job(await world.pool()), "task", command)
    info = await world.done(task)
    assert info["exitCode"] == code
    assert info["failureInfo"]["code"] == "FailureExitCode"
    assert info["failureInfo"]["message"] == "The task exited with an exit code representing a failure"


@pytest.mark.slow
@in_world
async def test_a_program_that_is_not_there_is_a_failure_before_the_task_and_is_not_tried_again(world: World) -> None:
    job = world.job(await world.pool())
    task = world.task(job, "task", f"{NOWHERE} --now", constraints={"maxTaskRetryCount": 3})
    info = await world.done(task)
    assert "exitCode" not in info
    assert info["failureInfo"]["category"] == "usererror"
    assert info["failureInfo"]["code"] == "CommandProgramNotFound"
    assert info["retryCount"] == 0


@pytest.mark.slow
@in_world
async def test_a_command_line_runs_without_a_shell(world: World) -> None:
    task = world.task(world.job(await world.pool()), "task", 'echo $HOME "a  b" | wc')
    await world.done(task)
    assert world.output(task) == "$HOME a  b | wc\n"


@pytest.mark.parametrize("line", ["", "   ", "echo 'open"])
def test_a_command_line_that_names_no_program_is_refused(line: str) -> None:
    with pytest.raises(CommandLineError):
        words(line)


@pytest.mark.slow
@in_world
async def test_a_task_that_runs_too_long_is_ended_with_all_that_it_started(world: World) -> None:
    job = world.job(await world.pool())
    command = "/bin/sh -c 'sleep 300 & echo $! > child; wait'"
    task = world.task(job, "task", command, constraints={"maxWallClockTime": "PT0.3S", "maxTaskRetryCount": 3})
    info = await world.done(task)
    assert info["failureInfo"]["code"] == "TaskEnded"
    assert info["failureInfo"]["category"] == "servererror"
    assert info["retryCount"] == 0
    child = int((world.folder(task) / "wd" / "child").read_text())
    await world.until(
        lambda: not Path(f"/proc/{child}").exists() or is_dead(child), lambda: f"the command's child {child} is gone"
    )


@pytest.mark.slow
@in_world
async def test_what_a_task_leaves_running_ends_with_it(world: World) -> None:
    task = world.task(world.job(await world.pool()), "task", "/bin/sh -c 'sleep 300 & echo $! > child'")
    await world.done(task)
    child = int((world.folder(task) / "wd" / "child").read_text())
    await world.until(lambda: is_dead(child), lambda: "the child ends")


@pytest.mark.slow
@in_world
async def test_a_user_ends_a_task(world: World) -> None:
    job = world.job(await world.pool())
    task = world.task(job, "task", "sleep 300", constraints={"maxTaskRetryCount": 3})
    await world.until(lambda: world.state_of(task) == "running", lambda: "it runs")
    await world.pools.end_task(task)
    info = await world.done(task)
    assert info["failureInfo"]["code"] == "TaskEnded"
    assert info["failureInfo"]["category"] == "usererror"
    assert info["retryCount"] == 0
    (node,) = world.pools.nodes(job.pool_key)
    assert node["state"] == "idle"


@pytest.mark.slow
@in_world
async def test_a_forgotten_task_leaves_nothing(world: World) -> None:
    job = world.job(await world.pool())
    task = world.task(job, "task", "sleep 300")
    await world.until(lambda: world.state_of(task) == "running", lambda: "it runs")
    folder = await world.until(lambda: world.pools.task_folder(task, world.work.node_of(task)), lambda: "its folder is there")
    await world.pools.forget_task(task, world.work.node_of(task))
    assert not folder.exists()
    assert world.state_of(task) == "running"  # whoever forgets it says what becomes of it


@pytest.mark.slow
@in_world
async def test_resource_files_lie_in_the_working_folder(world: World) -> None:
    data = world.container("data")
    (data / "in").mkdir()
    (data / "in" / "a.txt").write_text("a")
    (data / "in" / "b.txt").write_text("b")
    (data / "other.txt").write_text("o")
    files = [
        {"httpUrl": "folder:data/other.txt", "filePath": "sub/one.txt", "fileMode": "0600"},
        {"storageContainerUrl": "folder:data", "blobPrefix": "in/", "filePath": "all"},
    ]
    task = world.task(world.job(await world.pool()), "task", "/bin/sh -c 'find . -type f | sort'", resourceFiles=files)
    await world.done(task)
    assert world.output(task).split() == ["./all/in/a.txt", "./all/in/b.txt", "./sub/one.txt"]
    wd = world.folder(task) / "wd"
    assert (wd / "sub" / "one.txt").stat().st_mode & 0o777 == 0o600
    assert (wd / "all" / "in" / "a.txt").stat().st_mode & 0o777 == 0o770  # the service's default


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "code"),
    [
        ({"httpUrl": "folder:data/none.txt", "filePath": "x"}, "BlobNotFound"),
        ({"httpUrl": "folder:secret/x", "filePath": "x"}, "BlobAccessDenied"),
        ({"httpUrl": "folder:data/x", "filePath": "../../x"}, "ResourceFileWriteFailed"),
        ({"autoStorageContainerName": "data"}, "BlobNotFound"),
    ],
    ids=["missing", "not allowed", "outside", "no auto-storage"],
)
@in_world
async def test_a_resource_file_that_cannot_be_had_fails_the_task_before_it_runs(
    world: World, file: dict[str, str], code: str
) -> None:
    (world.container("data") / "x").write_text("x")
    world.blobs.refused.add("secret")
    task = world.task(world.job(await world.pool()), "task", "echo ran", resourceFiles=[file])
    info = await world.done(task)
    assert info["failureInfo"]["code"] == code
    assert "exitCode" not in info


@pytest.mark.slow
def test_output_files_are_uploaded_when_their_condition_holds(tmp_path: Path) -> None:
    def output(pattern: str, path: str, condition: str) -> dict[str, object]:
        return {
            "filePattern": pattern,
            "destination": {"container": {"containerUrl": "folder:out", "path": path}},
            "uploadOptions": {"uploadCondition": condition},
        }

    async def test(world: World) -> None:
        out = world.container("out")
        job = world.job(await world.pool())
        files = [
            output("**/*.txt", "all", "taskcompletion"),
            output("../stdout.txt", "logs/out.txt", "tasksuccess"),
            output("../std*.txt", "failed", "taskfailure"),
            output("$NAME.bin", "", "taskcompletion"),
        ]
        command = "/bin/sh -c 'mkdir -p d; echo 1 > a.txt; echo 2 > d/b.txt; echo 3 > n.bin; echo hi; exit {}'"
        env = [{"name": "NAME", "value": "n"}]
        good = world.task(job, "good", command.format(0), outputFiles=files, environmentSettings=env)
        await world.done(good)
        assert _names(out) == ["all/a.txt", "all/d/b.txt", "logs/out.txt", "n.bin"]
        assert (out / "logs/out.txt").read_text() == "hi\n"
        (out / "logs/out.txt").unlink()
        bad = world.task(job, "bad", command.format(1), outputFiles=files, environmentSettings=env)
        await world.done(bad)
        assert _names(out) == ["all/a.txt", "all/d/b.txt", "failed/stderr.txt", "failed/stdout.txt", "n.bin"]
        assert "n.bin" in (world.folder(bad) / "fileuploadout.txt").read_text()

    run(tmp_path, test)


@pytest.mark.slow
@in_world
async def test_an_upload_that_fails_fails_the_task_whatever_its_exit_code(world: World) -> None:
    file = {
        "filePattern": "*.txt",
        "destination": {"container": {"containerUrl": "folder:none"}},
        "uploadOptions": {"uploadCondition": "taskcompletion"},
    }
    job = world.job(await world.pool())
    command = "/bin/sh -c 'echo 1 > a.txt'"
    task = world.task(job, "task", command, outputFiles=[file], constraints={"maxTaskRetryCount": 2})
    info = await world.done(task)
    assert info["exitCode"] == 0
    assert info["result"] == "failure"
    assert info["failureInfo"]["code"] == "FileUploadContainerNotFound"
    assert info["retryCount"] == 0
    assert "FileUploadContainerNotFound" in (world.folder(task) / "fileuploaderr.txt").read_text()


@pytest.mark.slow
@in_world
async def test_a_windows_node_is_idle_and_refuses_tasks_by_name(world: World) -> None:
    machine = {
        "imageReference": {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter"},
        "nodeAgentSkuId": "batch.node.windows amd64",
    }
    start = {"commandLine": "cmd /c GPUDriverSetup.exe /s", "waitForSuccess": True}
    deployment = {"virtualMachineConfiguration": machine}
    pool = await world.pool(deploymentConfiguration=deployment, startTask=start)
    task = world.task(world.job(pool), "task", "cmd /c echo hi")
    info = await world.done(task)
    assert info["failureInfo"]["code"] == "NotImplemented"
    assert "Windows" in info["failureInfo"]["details"][0]["value"]
    assert world.states(pool) == ["idle"]


@pytest.mark.slow
@in_world
async def test_a_node_shows_the_tasks_that_it_ran(world: World) -> None:
    job = world.job(await world.pool())
    await world.done(world.task(job, "one", "true"))
    await world.done(world.task(job, "two", "false"))
    (node,) = world.pools.nodes(job.pool_key)
    assert (node["totalTasksRun"], node["totalTasksSucceeded"], node["runningTasksCount"]) == (2, 1, 0)
    assert [(one["taskId"], one["executionInfo"]["exitCode"]) for one in node["recentTasks"]] == [("two", 1), ("one", 0)]
    assert node["vmSize"] == SIZE.lower()


def _names(folder: Path) -> list[str]:
    return sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())
