"""Converts a Shipyard job into a file of tasks for `operations run --on batch --tasks`.

The content is what `formats.task_file` reads. Secrets are never copied."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.left import Left
from azure_gpu.formats.likely_secrets import holds_secret, is_secret_name
from azure_gpu.formats.shipyard.factories import commands_of
from azure_gpu.formats.shipyard.files import Shipyard, volumes
from azure_gpu.formats.shipyard.mounts import volume_options
from azure_gpu.formats.shipyard.part import Part, duration, minutes_of
from azure_gpu.formats.shipyard.task_files import inputs_of, outputs_of, resource_files_of
from azure_gpu.formats.task_file import ALL, PRIORITIES

_PREFIX, _DIGITS = "task-", 5
_NOTHING = "/bin/true"
_COUNTS = {
    "pool_current_dedicated": "dedicated",
    "pool_specification_vm_count_dedicated": "dedicated",
    "pool_current_low_priority": "low_priority",
    "pool_specification_vm_count_low_priority": "low_priority",
}
# Keys that a job here has no use for: why, and what does the same where something does.
_LEFT_OF_JOB: Mapping[str, tuple[str, str]] = {
    "auto_complete": ("a run ends its job itself when the last task has ended", ""),
    "multi_instance_auto_complete": ("a run ends its job itself when the last task has ended", ""),
    "environment_variables_keyvault_secret_id": (
        "variables from a key vault",
        "let the program fetch them with the pool's identity",
    ),
    "auto_pool": ("a pool only for the job: the stack's pool has no nodes while it has no tasks", ""),
    "recurrence": ("a schedule", "`az batch job-schedule create`, or run it from your own scheduler"),
    "federation_constraints": ("a choice among pools", "name the pool: operations run --pool"),
    "allow_run_on_missing_image": ("an image that a node lacks is fetched when its first task needs it", ""),
    "job_preparation": ("a command before the first task on a node", "start_task of the pool"),
    "job_release": ("a command after the last task on a node", ""),
    "auto_scratch": ("a scratch file system over the nodes isn't there", "mounts: an NFS share"),
    "user_identity.default_pool_admin": ("containers run as the user of their image", "elevated: true, for a task that needs it"),
}
_LEFT_OF_BOTH: Mapping[str, tuple[str, str]] = {
    "shared_data_volumes": ("every mount of the pool is there in every task", ""),
    "restrict_default_bind_mounts": ("Batch decides what of the node a container sees", ""),
}
_LEFT_OF_TASK: Mapping[str, tuple[str, str]] = {
    "environment_variables_keyvault_secret_id": (
        "variables from a key vault",
        "let the program fetch them with the pool's identity",
    ),
    "singularity_execution": ("Batch runs Docker-compatible containers", ""),
    "additional_singularity_options": ("Batch runs Docker-compatible containers", ""),
    "name": ("Batch names its containers itself", ""),
    "ports": ("a task can't be reached", ""),
    "multi_instance.pre_execution_command": ("a command before mpirun", "put it into the command"),
}


class JobSettings(NamedTuple):
    """`content` is empty where no task could be taken."""

    name: str
    content: dict[str, Any]
    left: list[Left]
    problems: list[Problem]


def settings_of(found: Shipyard, pool: str) -> list[JobSettings]:
    """`pool` is what the stack file calls the pool; "" where it isn't known."""
    options, problems = volumes(found.config, "data_volumes")
    by_alias = {alias: volume_options(volume) for alias, volume in options}
    jobs: list[JobSettings] = []
    for job, tasks, merge in zip(found.jobs, found.tasks, found.merges, strict=True):
        jobs.append(_Job(found, job, pool, by_alias).whole(tasks, merge))
    if jobs and problems:
        jobs[0].problems.extend(problems)
    return jobs


def instances_of(task: Part, pool: Part | None) -> tuple[int, str]:
    """The nodes of a multi-instance task, and what is wrong with their number; "" if nothing is."""
    value = task.get("multi_instance.num_instances")
    if isinstance(value, str) and value.strip().isdigit():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return max(value, 1), "" if value > 0 else f"a task runs on 1 node or more, not {value}"
    kind = _COUNTS.get(str(value))
    if kind is None:
        return 1, "the number of nodes isn't known" if value is not None else "the number of nodes is missing"
    count = pool.get("vm_count") if pool else None
    known = count if isinstance(count, int) and kind == "dedicated" else (pool.things("vm_count").get(kind) if pool else None)
    most = pool.get(f"autoscale.scenario.maximum_vm_count.{kind}") if pool else None
    number = known or most
    return (
        (int(number), "") if isinstance(number, int) and number > 0 else (1, f"{value}: the pool's number of nodes isn't known")
    )


class _Job:
    def __init__(self, found: Shipyard, job: Part, pool: str, volumes: Mapping[str, str]) -> None:
        self.found = found
        self.job = job
        self.pool = pool
        self.volumes = volumes
        self.left: list[Left] = []
        self.problems: list[Problem] = []
        self.next_number: dict[str, int] = {}

    def whole(self, tasks: tuple[Part, ...], merge: Part | None) -> JobSettings:
        name = str(self.job.get("id") or "job")
        content = self.common()
        made = [one for task in tasks for one in self.tasks(task, "")]
        if merge is not None and made:
            made += [{**one, "depends_on": ALL} for one in self.tasks(merge, "merge-")]
        self.leave_all(self.job, {**_LEFT_OF_JOB, **_LEFT_OF_BOTH})
        images = {str(one["image"]) for one in made}
        if len(images) == 1:  # set once, for all tasks
            content["image"] = images.pop()
            made = [{key: value for key, value in one.items() if key != "image"} for one in made]
        content = {**content, "tasks": made} if made else {}
        return JobSettings(name, content, self.left, self.problems)

    def leave_all(self, part: Part, keys: Mapping[str, tuple[str, str]]) -> None:
        for key, (message, fix) in keys.items():
            if part.get(key) not in (None, False, [], {}, ""):
                self.left.append(part.leave(key, message, fix))

    def common(self) -> dict[str, Any]:
        """The job's settings for all of its tasks."""
        result: dict[str, Any] = {"pool": self.pool} if self.pool else {}
        priority = self.job.get("priority") or 0
        if priority not in PRIORITIES:
            path = self.job.at("priority")
            self.problems.append(Problem(path, "a job's priority is a number from -1000 to 1000", priority, fix="write 0"))
        result |= {"priority": priority} if priority else {}
        result |= self.length(self.job, "max_wall_time", "max_minutes")
        return result | self.shared(self.job)

    def shared(self, part: Part) -> dict[str, Any]:
        """Settings that a job can have for all of its tasks, and a task for itself."""
        result: dict[str, Any] = {}
        environment = self.environment(part)
        if environment:
            result["environment"] = environment
        if part.get("max_task_retries"):
            result["retries"] = part.get("max_task_retries")
        result |= self.length(part, "retention_time", "keep_minutes")
        options = part.things("exit_conditions.default.exit_options")
        failure = {"job": options.get("job_action"), "dependents": options.get("dependency_action")}
        failure = {key: word for key, word in failure.items() if word not in (None, "none", "block")}
        return {**result, **({"on_failure": failure} if failure else {})}

    def environment(self, part: Part) -> dict[str, str]:
        kept: dict[str, str] = {}
        for name, value in part.things("environment_variables").items():
            if is_secret_name(name) or holds_secret(value):
                message = "this is likely to be a secret, and who may read a job can read its variables"
                self.left.append(
                    part.leave(f"environment_variables.{name}", message, "let the program fetch it with the pool's identity")
                )
            else:
                kept[name] = value
        return kept

    def length(self, part: Part, key: str, ours: str) -> dict[str, Any]:
        value = part.get(key)
        if value is None:
            return {}
        length = duration(value)
        if length is None:
            problem = Problem(part.at(key), "not a duration", value, "d.HH:mm:ss", "write 02:00:00")
            self.problems.append(problem)
            return {}
        return {ours: minutes_of(length)} if length else {}

    def tasks(self, task: Part, prefix: str) -> Iterator[dict[str, Any]]:
        """A task, or all that its factory makes."""
        image = self.image(task)
        commands, left, problems = commands_of(task)
        self.left += left
        self.problems += problems
        if image is None or not commands:
            return
        common = {"image": image, **self.one(task)}
        if any(map(holds_secret, commands)):
            fix = "let the program fetch it with the pool's identity"
            self.problems.append(Problem(task.at("command"), "there is a secret in this command, and it isn't copied", fix=fix))
            return
        if task.get("multi_instance.mpi"):  # without the line of mpirun it would run as one process, and seem to be right
            message = "Shipyard put mpirun in front of this task's command, by its own rules; the task isn't copied"
            fix = "write the whole mpirun into command, and what starts the image's SSH server into coordination_command"
            self.problems.append(Problem(task.at("multi_instance.mpi"), message, fix=fix))
            return
        named = str(task.get("id") or "")
        for command in commands:
            name = named if named and len(commands) == 1 else self.numbered(task, prefix)
            yield {"id": name, **({"command": command} if command else {}), **common}

    def numbered(self, task: Part, prefix: str) -> str:
        """As the configuration numbers tasks without an id."""
        settings = task.things("task_factory.autogenerated_task_id")
        if not settings and self.found.config:
            settings = self.found.config.things("batch_shipyard.autogenerated_task_id")
        word = prefix + str(settings.get("prefix", _PREFIX) if settings.get("prefix") is not None else _PREFIX)
        number = self.next_number.get(word, 0)
        self.next_number[word] = number + 1
        return f"{word}{number:0{int(settings.get('zfill_width') or _DIGITS)}d}"

    def image(self, task: Part) -> str | None:
        """None: the task can't be taken."""
        image = str(task.get("docker_image") or task.get("image") or "")
        singularity = str(task.get("singularity_image") or "")
        if image or not singularity:
            if not image:
                fix = "add docker_image: and its name"
                self.problems.append(Problem(task.at(), "the task has no image", fix=fix))
            return image or None
        kind, _, rest = singularity.partition("://")
        if kind == "docker":
            self.left.append(task.change("singularity_image", "Batch runs Docker-compatible containers: the same image as one"))
            return rest
        message = "an image of Singularity, and Batch runs Docker-compatible containers"
        self.left.append(task.leave("singularity_image", message, "the same program in an image of a registry"))
        return None

    def one(self, task: Part) -> dict[str, Any]:
        """Everything of a task but its id, command and image."""
        self.leave_all(task, {**_LEFT_OF_TASK, **_LEFT_OF_BOTH})
        result = {**self.shared(task), **self.length(task, "max_wall_time", "timeout_minutes")}
        options = self.run_options(task)
        if options:
            result["run_options"] = options
        dependencies = [*task.texts("depends_on"), *self.range_of(task)]
        if dependencies:
            result["depends_on"] = dependencies
        files = [*resource_files_of(task, "resource_files", self.left)]
        files += [*inputs_of(self.job, self.left), *inputs_of(task, self.left)]
        if files:
            result["resource_files"] = files
        outputs = outputs_of(task, self.left)
        if outputs:
            result["outputs"] = outputs
        return {**result, **self.multi_instance(task)}

    def range_of(self, task: Part) -> list[str]:
        ids: list[int] = task.get("depends_on_range") or []
        if len(ids) not in (0, 2):
            fix = "write the first and the last id"
            self.problems.append(Problem(task.at("depends_on_range"), "a range has a first and a last id", ids, fix=fix))
        return [str(number) for number in range(ids[0], ids[1] + 1)] if len(ids) == 2 else []

    def run_options(self, task: Part) -> str:
        words: list[str] = []
        identity = self.job.things("user_identity.specific_user")
        if identity:
            words.append(f"--user {identity.get('uid')}:{identity.get('gid')}")
        size = task.get("shm_size") or self.job.get("shm_size")
        words += [f"--shm-size {size}"] if size else []
        for part in (self.job, task):
            for alias in part.texts("data_volumes"):
                option = self.volumes.get(alias, "")
                words += [option] if option else []
                if not option:
                    self.left.append(part.leave("data_volumes", f"the configuration has no volume {alias!r}"))
        if task.get("entrypoint"):
            words.append(f"--entrypoint {shlex.quote(str(task.get('entrypoint')))}")
        words += [f"--label {shlex.quote(label)}" for label in task.texts("labels")]
        if (task.get("default_working_dir") or self.job.get("default_working_dir")) == "container":
            self.left.append(task.leave("default_working_dir", "a task works in its own folder, as native pools had it"))
        gpu = task.get("gpu") if task.get("gpu") is not None else self.job.get("gpu")
        if gpu is False:
            self.left.append(task.leave("gpu", "Batch gives every container the node's GPUs"))
        for option in task.texts("additional_docker_run_options"):
            if holds_secret(option):
                fix = "let the program fetch it with the pool's identity"
                path = task.at("additional_docker_run_options")
                self.problems.append(Problem(path, "there is a secret in this option, and it isn't copied", fix=fix))
            elif re.match(r"--gpus\b", option):
                self.left.append(task.leave("additional_docker_run_options", f"{option}: Batch gives the GPUs by itself"))
            else:
                words.append(option)
        return " ".join(words)

    def multi_instance(self, task: Part) -> dict[str, Any]:
        if not task.get("multi_instance"):
            return {}
        nodes, problem = instances_of(task, self.found.pool)
        if problem:
            fix = "write the number of nodes"
            self.problems.append(Problem(task.at("multi_instance.num_instances"), problem, fix=fix))
        result: dict[str, Any] = {"nodes": nodes}
        command = str(task.get("multi_instance.coordination_command") or "")
        if not command:
            message = "Shipyard started the image's own command, its SSH server, on each node; Batch wants a command for that"
            self.left.append(task.change("multi_instance", message, "coordination_command: what the image's CMD does"))
        result["coordination_command"] = command or _NOTHING
        files = [*resource_files_of(task, "multi_instance.resource_files", self.left)]
        if files:
            result["shared_files"] = files
        return result
