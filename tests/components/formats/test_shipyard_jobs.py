"""Batch Shipyard's jobs as files of tasks."""

from typing import Any

import pytest
import yaml

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.formats import task_file
from azure_gpu.formats.shipyard import files
from azure_gpu.formats.shipyard.jobs import JobSettings, settings_of
from azure_gpu.formats.task_file import Output, ResourceFile
from tests.components.tables import of_table
from tests.support.shipyard_files import MPI, MPI_POOL, OLD, TRAIN, VOLUMES_CONFIG


def jobs_of(*given: tuple[str, str]) -> list[JobSettings]:
    found, problems = files.read(given)
    assert errors(problems) == []
    return settings_of(found, "pool")


def job_of(text: str, *more: tuple[str, str]) -> JobSettings:
    (job,) = jobs_of(("jobs.yaml", text), *more)
    return job


def of_task(text: str, *more: tuple[str, str], job: str = "") -> JobSettings:
    """A job of one task."""
    inner = "".join(f"    {line}\n" for line in text.splitlines())
    own = "".join(f"  {line}\n" for line in job.splitlines())
    return job_of(f"job_specifications:\n- id: j\n{own}  tasks:\n  -\n{inner}", *more)


def taken(job: JobSettings) -> task_file.TaskFile:
    """As `operations run --tasks` reads it."""
    assert job.problems == []
    read, problems = task_file.read(yaml.safe_dump(job.content), "tasks.yaml")
    assert read is not None, [str(problem) for problem in problems]
    return read


def commands(factory: str, command: str = "run {}") -> list[str]:
    inner = "".join(f"  {line}\n" for line in factory.splitlines())
    job = of_task(f"docker_image: a\ncommand: '{command}'\ntask_factory:\n{inner}")
    return [task.command for task in taken(job).tasks]


def left_of(job: JobSettings) -> str:
    return "\n".join(map(str, job.left))


def test_a_job_with_a_factory_and_a_merge_task() -> None:
    (job,) = jobs_of(*TRAIN)
    read = taken(job)
    assert read.pool == "pool"
    assert [task.id for task in read.tasks] == ["prepare", "task-00000", "task-00001", "task-00002", "merge-task-00000"]
    prepare, first, *_, merge = read.tasks
    assert prepare.environment == {"EPOCHS": "3"}
    assert prepare.resource_files == (
        ResourceFile(url="https://example.org/data/digits.npz", path="data/digits.npz", mode="0640"),
    )
    assert first.command == "python train.py --seed 1"
    assert (first.retries, first.timeout_minutes, first.run_options) == (1, 30, "--shm-size 256m")
    assert first.depends_on == ("prepare",)
    assert first.outputs == (Output("*.npz", "models", "digits"),)
    assert merge.depends_on == ("prepare", "task-00000", "task-00001", "task-00002")
    assert "c2VjcmV0" not in str(job)


def test_a_task_that_shipyard_ran_under_mpirun_is_not_copied_without_it() -> None:
    job = of_task("docker_image: a\ncommand: ./solve\nmulti_instance: {num_instances: 2, mpi: {runtime: openmpi}}")
    assert "./solve" not in str(job.content)
    assert [(each.path, each.message) for each in job.problems] == [
        (
            "jobs.yaml:7: job_specifications[0].tasks[0].multi_instance.mpi",
            "Shipyard put mpirun in front of this task's command, by its own rules; the task isn't copied",
        )
    ]


def test_a_multi_instance_task_takes_its_nodes_from_the_pool() -> None:
    (job,) = jobs_of(*MPI)
    (task,) = taken(job).tasks
    assert (task.nodes, task.coordination_command, task.command) == (4, "/usr/sbin/sshd -p 23", "mpirun -np 64 ./solve")
    assert task.shared_files == (ResourceFile(url="https://example.org/mesh.tar", path="mesh.tar"),)


@pytest.mark.parametrize(
    ("instances", "nodes"),
    [("3", 3), ("'3'", 3), ("pool_specification_vm_count_dedicated", 4), ("pool_current_dedicated", 4)],
)
def test_the_number_of_nodes_in_each_of_its_spellings(instances: str, nodes: int) -> None:
    job = of_task(f"docker_image: a\ncommand: b\nmulti_instance: {{num_instances: {instances}}}", ("pool.yaml", MPI_POOL))
    assert taken(job).tasks[0].nodes == nodes


@pytest.mark.parametrize("instances", ["0", "pool_current_low_priority", "many"])
def test_a_number_of_nodes_that_isnt_known_is_a_problem(instances: str) -> None:
    job = of_task(f"docker_image: a\ncommand: b\nmulti_instance: {{num_instances: {instances}}}", ("pool.yaml", MPI_POOL))
    assert [problem.path for problem in job.problems] == [
        "jobs.yaml:7: job_specifications[0].tasks[0].multi_instance.num_instances"
    ]


def test_a_job_of_2_x() -> None:
    (job,) = jobs_of(*OLD)
    (task,) = taken(job).tasks
    assert (task.id, task.image, task.command) == ("task-00000", "alpine:3", "true")


@of_table("factory", "expected")
def test_a_factory_makes_the_commands(factory: str, expected: list[str]) -> None:
    assert commands(factory) == expected


def test_nested_sweeps_and_pairs() -> None:
    product = "parametric_sweep: {product: [{start: 0, stop: 2, step: 1}, {start: 7, stop: 9, step: 1}]}"
    assert commands(product, "{0}-{1}") == ["0-7", "0-8", "1-7", "1-8"]
    assert commands("parametric_sweep: {combinations: {iterable: [a, b], length: 2, replacement: true}}", "{1}{0}") == [
        "aa",
        "ba",
        "bb",
    ]
    assert commands("parametric_sweep: {permutations: {iterable: [a, b], length: 2}}", "{}{}") == ["ab", "ba"]
    assert commands("parametric_sweep: {zip: [ab, '01']}", "{0}{1}") == ["a0", "b1"]


def test_numbers_are_drawn_once_and_within_their_range() -> None:
    factory = "random: {generate: 20, seed: 7, integer: {start: 5, stop: 10, step: 1}}"
    drawn = [int(command.removeprefix("run ")) for command in commands(factory)]
    assert set(drawn) <= set(range(5, 10))
    assert len(set(drawn)) > 1
    assert commands(factory) == [f"run {number}" for number in drawn]
    uniform = commands("random: {generate: 4, distribution: {uniform: {a: 2.0, b: 3.0}}}")
    assert all(2 <= float(command.removeprefix("run ")) <= 3 for command in uniform)


@of_table("factory", "command", "said")
def test_a_factory_that_makes_no_sense_is_a_problem(factory: str, command: str, said: str) -> None:
    job = of_task(f"docker_image: a\ncommand: '{command}'\ntask_factory:\n  {factory}")
    (problem,) = job.problems
    assert said in problem.message
    assert job.content == {}


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        (
            "{file: {azure_storage: {storage_account_settings: lab, remote_path: c}, task_filepath: file_name}}",
            "the files aren't listed",
        ),
        ("{custom: {module: mine}}", "a module of Python"),
    ],
)
def test_a_factory_that_cant_be_followed_is_left_out(factory: str, said: str) -> None:
    job = of_task(f"docker_image: a\ncommand: 'run {{file_name}}'\ntask_factory: {factory}")
    assert job.content == {}
    assert said in left_of(job)


def test_everything_of_docker_that_batch_takes_is_an_option() -> None:
    job = of_task(
        "docker_image: a\ncommand: b\ndata_volumes: [scratch, own, gone]\nentrypoint: /bin/my start\nlabels: [team=vision]\n"
        "additional_docker_run_options: [--ulimit memlock=-1, --gpus=all]\n",
        ("config.yaml", VOLUMES_CONFIG),
        job="user_identity: {specific_user: {uid: 1000, gid: 1001}}\nshm_size: 1g",
    )
    assert taken(job).tasks[0].run_options == (
        "--user 1000:1001 --shm-size 1g -v /mnt/scratch:/scratch:ro -v /own --entrypoint '/bin/my start' --label team=vision "
        "--ulimit memlock=-1"
    )
    assert "the configuration has no volume 'gone'" in left_of(job)
    assert "--gpus=all: Batch gives the GPUs by itself" in left_of(job)


def test_containers_of_storage_are_resource_files_and_outputs() -> None:
    job = of_task("""docker_image: a
command: b
input_data:
  azure_batch: [{job_id: x, task_id: y}]
  azure_storage:
  - {storage_account_settings: lab, remote_path: input/day1, local_path: $AZ_BATCH_TASK_WORKING_DIR/data, include: ['*.png']}
  - {storage_account_settings: lab, remote_path: share/x, is_file_share: true}
  - {storage_account_settings: lab, remote_path: input, local_path: /somewhere}
output_data:
  azure_storage:
  - {storage_account_settings: lab, remote_path: results/day1, include: [wd/out*.dat, stdout.txt]}
  - {storage_account_settings: lab, remote_path: models, local_path: $AZ_BATCH_TASK_WORKING_DIR/m}
""")
    (task,) = taken(job).tasks
    assert task.resource_files == (ResourceFile(container="input", prefix="day1", path="data"),)
    assert task.outputs == (
        Output("out*.dat", "results", "day1"),
        Output("../stdout.txt", "results", "day1"),
        Output("m/**/*", "models"),
    )
    for path, said in (
        ("input_data.azure_batch", "another task's node"),
        ("input_data.azure_storage[0].include", "all files of a folder"),
        ("input_data.azure_storage[1]", "files of a share"),
        ("input_data.azure_storage[2].local_path", "its own working folder"),
        ("input_data.azure_storage[0].storage_account_settings", "the account's own storage"),
    ):
        assert any(f".{path}: " in str(left) and said in str(left) for left in job.left), path


def test_lengths_of_time_in_each_spelling_that_yaml_makes_of_them() -> None:
    job = of_task(
        "docker_image: a\ncommand: b\nmax_wall_time: 12:30:00\nretention_time: 1.12:00:00",
        job="max_wall_time: 02:00:00\nmax_task_retries: 2\npriority: 10",
    )
    read = taken(job)
    assert (read.max_minutes, read.priority) == (120, 10)
    assert (read.tasks[0].timeout_minutes, read.tasks[0].keep_minutes, read.tasks[0].retries) == (750, 2160, 2)


def test_exit_conditions_and_dependencies() -> None:
    job = job_of("""job_specifications:
- id: j
  exit_conditions: {default: {exit_options: {job_action: terminate, dependency_action: block}}}
  tasks:
  - {id: '1', docker_image: a, command: b}
  - {id: '2', docker_image: a, command: b}
  - id: last
    docker_image: a
    command: b
    depends_on_range: [1, 2]
    exit_conditions: {default: {exit_options: {dependency_action: satisfy}}}
""")
    first, _, last = taken(job).tasks
    assert (first.on_failure_job, first.on_failure_dependents) == ("terminate", "")
    assert (last.depends_on, last.on_failure_job, last.on_failure_dependents) == (("1", "2"), "terminate", "satisfy")


def test_ids_are_numbered_as_the_configuration_has_it() -> None:
    config = "batch_shipyard: {storage_account_settings: lab, autogenerated_task_id: {prefix: '', zfill_width: 2}}\n"
    job = of_task("docker_image: a\ncommand: b\ntask_factory: {repeat: 2}", ("config.yaml", config))
    assert [task.id for task in taken(job).tasks] == ["00", "01"]


def test_images_of_singularity() -> None:
    job = job_of("""job_specifications:
- id: j
  tasks:
  - {singularity_image: 'docker://python:3.11', command: b}
  - {singularity_image: 'shub://someone/image', command: b}
""")
    assert [task.image for task in taken(job).tasks] == ["python:3.11"]
    assert "jobs.yaml:5: job_specifications[0].tasks[1].singularity_image: an image of Singularity" in left_of(job)


def test_what_a_run_does_itself_is_told() -> None:
    job = of_task(
        "docker_image: a\ncommand: b\nports: ['80']\nname: x\ngpu: false",
        job="auto_complete: true\nrecurrence: {schedule: {recurrence_interval: 00:05:00}}\nauto_pool: {keep_alive: true}",
    )
    said = left_of(job)
    for key in ("auto_complete", "recurrence", "auto_pool", "tasks[0].ports", "tasks[0].name", "tasks[0].gpu"):
        assert f"job_specifications[0].{key}: " in said


SECRETS: list[tuple[str, Any]] = [
    ("command: 'login --password=hunter22'", "there is a secret in this command"),
    ("command: b\nadditional_docker_run_options: ['-e TOKEN --password=hunter22']", "there is a secret in this option"),
]


@pytest.mark.parametrize(("text", "said"), SECRETS)
def test_a_secret_in_a_task_is_refused_and_not_shown(text: str, said: str) -> None:
    job = of_task(f"docker_image: a\n{text}")
    (problem,) = job.problems
    assert said in problem.message
    assert "hunter22" not in f"{problem}{job.content}{left_of(job)}"


def test_a_variable_that_is_likely_to_be_a_secret_is_left_out() -> None:
    job = of_task("docker_image: a\ncommand: b\nenvironment_variables: {DB_PASSWORD: hunter22, DAY: 1}")
    assert taken(job).tasks[0].environment == {"DAY": "1"}
    assert "hunter22" not in str(job)
    assert "environment_variables.DB_PASSWORD: this is likely to be a secret" in left_of(job)


def test_a_task_without_an_image_is_a_problem() -> None:
    problems: list[Problem] = of_task("command: b").problems
    assert [problem.path for problem in problems] == ["jobs.yaml:5: job_specifications[0].tasks[0]"]
