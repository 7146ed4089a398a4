"""What a task finds in its environment, and command lines that name no program."""

from pathlib import Path

import pytest

from localazure.batch.command_lines import words
from localazure.batch.failures import TaskError
from tests.localazure.batch.world import World, run


@pytest.mark.slow
def test_a_task_has_the_documented_variables_none_of_the_servers_and_changes_none_of_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARM_CLIENT_SECRET", "not for tasks")

    async def test(world: World) -> None:
        pool = await world.pool("MyPool")
        of_job = {"A": "job", "B": "job", "AZ_BATCH_JOB_ID": "mine"}
        own = {"B": "task", "AZ_BATCH_NODE_ROOT_DIR": "/", "AZ_BATCH_X": "y", "PATH": "/bin"}
        job = world.job(pool, "Job1", commonEnvironmentSettings=[{"name": name, "value": of_job[name]} for name in of_job])
        dump = '/bin/sh -c \'env; tr "\\\\0" "\\\\n" < /proc/$PPID/environ\''
        task = world.task(job, "Task1", dump, environmentSettings=[{"name": name, "value": own[name]} for name in own])
        await world.done(task)
        assert "not for tasks" not in world.output(task)
        lines = world.output(task).splitlines()
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
            "AZ_BATCH_X": "y",
            "PATH": "/bin",
        }
        assert {f"{name}={value}" for name, value in expected.items()} <= set(lines)
        assert "AZ_BATCH_JOB_ID=mine" not in lines
        assert Path(f"{root}/shared").is_dir()
        assert "AZ_BATCH_JOB_PREP_DIR" not in world.output(task)

    run(tmp_path, test)


@pytest.mark.parametrize("line", ["", "   ", "echo 'open"])
def test_a_command_line_that_names_no_program_is_refused(line: str) -> None:
    with pytest.raises(TaskError, match="CommandLaunchFailed"):
        words(line)
