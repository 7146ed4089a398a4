"""Every reason to refuse a GPU job: what contradicts itself, and what the service doesn't take.

In: the settings of a job, and where they are written. Out: problems.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import container_jobs, names, regions
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import container_apps, container_apps_requests
from azure_gpu.container_apps.environment.args import GpuModel
from azure_gpu.container_apps.job.args import (
    DEFAULT_FEWEST_EXECUTIONS,
    DEFAULT_MOST_EXECUTIONS,
    DEFAULT_PARALLELISM,
    DEFAULT_POLLING_SECONDS,
    DEFAULT_RETRIES,
    DEFAULT_TIMEOUT_MINUTES,
    EventArgs,
    EventRuleArgs,
    ServerlessGpuJobSettings,
)
from azure_gpu.formats import azure_types, cron, image_reference
from azure_gpu.shared.context import check_region, check_tags, known
from azure_gpu.shared.wording import give_part, stacks, with_part
from azure_gpu.shared.workloads import Workload

_RULE_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_RULES_SOURCE = "the service's own refusal, quoted in DFE-Digital/terraform-azurerm-container-apps-hosting pull request 96"
_TRIGGER_SOURCE = (
    "MicrosoftDocs/azure-docs, articles/container-apps/jobs.md; microsoft/azure-container-apps issue 1333, 2024-10-30"
)
# The page of jobs sets no limit. In that review the service's own people said that replicas are then repeated; others write that
# the service takes no more than the parallelism.
_COMPLETIONS_SOURCE = "Azure/azure-rest-api-specs pull request 21916, review of 2023-01-11"
# Measures of this project: no page says how many GPUs an environment may use at first; the page of 2024-11-06 had one T4.
MANY_GPUS = 8
MANY_HOURS = 24


class Where(NamedTuple):
    """Where the settings of one job are written: `where("cpu")` is `jobs.<name>.cpu`."""

    path: str
    location: str

    def __call__(self, key: str) -> str:
        return f"{self.path}.{key}"


def problems_of(args: ServerlessGpuJobSettings, where: Where) -> list[Problem]:
    """What is wrong with the settings by themselves."""
    return [
        *_image(args, where),
        *_names(args, where),
        *_variables(args, where),
        *_triggers(args, where),
        *_numbers(args, where),
        *_at_most(args, where),
        *check_tags(args.get("tags", {}), where("tags")),
        *check_region(args.get("location"), where.location),
    ]


def service_problems(
    gpu: GpuModel,
    image: str | None,
    cpu: float,
    memory_in_gib: float,
    location: str,
    where: Where,
    day: date,
    *,
    in_existing_environment: bool,
) -> list[Problem]:
    """What the service doesn't take on that day, or doesn't run: of a workload's image, which is None, no CUDA version is known.
    What an existing environment has is looked up, and no table knows better."""
    container = container_apps_requests.ContainerRequest(
        gpu_path=where("gpu"),
        cpu_path=where("cpu"),
        memory_path=where("memory_in_gib"),
        gpu=1,
        cpu=cpu,
        memory_gib=memory_in_gib,
    )
    job = container_apps_requests.JobRequest(gpu.profile_type, where("gpu"), (container,))
    problems = container_apps_requests.job_problems(job, day)
    problems += container_jobs.check_image(gpu.profile_type, image or "", where("image"))
    if in_existing_environment:
        return problems
    profile = container_apps_requests.ProfileRequest(
        name=gpu.profile_name,
        type=gpu.profile_type,
        location=location,
        name_path=where("gpu"),
        type_path=where("gpu"),
        location_path=where.location,
        minimum_path=where("gpu"),
        maximum_path=where("gpu"),
    )
    # Both speak of the profile's lifecycle, in the same words; the region itself is refused elsewhere where nobody knows it.
    more = [problem for problem in container_apps_requests.profile_problems(profile, day) if problem not in problems]
    return [*problems, *(problem for problem in more if problem.code is not Code.NOT_IN_REGION or location in regions.known())]


def identity_problems(path: str, args: ServerlessGpuJobSettings) -> list[Problem]:
    """What the job at `path` wants of an identity, where there is none."""
    rules = args["event"]["rules"] if "event" in args else dict[str, EventRuleArgs]()
    return [
        Problem(
            path=f"{path}.event.rules.{rule}.use_identity",
            message=f"this rule authenticates as {stacks(path, 'identity')}, and there is none",
            allowed=with_part(path, "identity"),
            fix=give_part(path, "identity"),
        )
        for rule, said in rules.items()
        if said.get("use_identity", False)
    ]


def _image(args: ServerlessGpuJobSettings, where: Where) -> list[Problem]:
    if "image" in args and "workload" in args:
        return [
            Problem(
                path=where("image"),
                message="a job runs an image or a workload, and both are said",
                value=known(args["image"]),
                allowed=f"an image reference, or one of the workloads {', '.join(Workload)}; neither, for a job that gets its "
                "image when it is started",
                fix="remove one of the two",
            )
        ]
    image = known(args.get("image"))
    return image_reference.check(image, where("image")) if image is not None else []


def _names(args: ServerlessGpuJobSettings, where: Where) -> Iterator[Problem]:
    job_name = known(args.get("job_name"))
    if job_name is not None:
        yield from names.check(azure_types.JOB.arm_type, job_name, where("job_name"))
    if "container_name" in args:
        yield from names.check(names.CONTAINER, args["container_name"], where("container_name"))


def _variables(args: ServerlessGpuJobSettings, where: Where) -> Iterator[Problem]:
    for variable in sorted(args.get("environment", {}).keys() & args.get("secret_environment", {}).keys()):
        yield Problem(
            path=where(f"environment.{variable}"),
            message="this variable is given as plain and as secret",
            allowed="one of environment and secret_environment",
            fix="remove it from environment",
        )


def _triggers(args: ServerlessGpuJobSettings, where: Where) -> Iterator[Problem]:
    if "schedule" in args and "event" in args:
        yield Problem(
            path=where("event"),
            message="a job has one trigger, and both a schedule and events are said",
            allowed="schedule, or event; neither, for a job that somebody starts",
            fix="remove one of the two",
            source=_TRIGGER_SOURCE,
        )
    if "schedule" in args:
        wrong = cron.fault(args["schedule"])
        if wrong:
            fix = 'write it as "0 2 * * 1-5", which is 02:00 UTC from Monday to Friday'
            yield Problem(path=where("schedule"), message=wrong, value=args["schedule"], allowed=cron.SPELLING, fix=fix)
    if "event" in args:
        yield from _events(args["event"], where)


def _events(event: EventArgs, where: Where) -> Iterator[Problem]:
    if not event["rules"]:
        yield Problem(path=where("event.rules"), message="no event is named that could start the job", fix="add a rule")
    for name, rule in event["rules"].items():
        if not _RULE_NAME.fullmatch(name):
            yield Problem(
                path=where(f"event.rules.{name}"),
                message="Azure doesn't take this as the name of a rule",
                value=name,
                allowed="lowercase letters, digits, hyphens and periods, a letter or digit at both ends",
                fix="rename the rule",
                source=_RULES_SOURCE,
            )
        if rule.get("use_identity", False) and rule.get("secrets"):
            yield Problem(
                path=where(f"event.rules.{name}.use_identity"),
                message="this rule authenticates as the identity or with secrets, and both are said",
                allowed="use_identity, or secrets",
                fix="remove secrets",
            )
    least, most = event.get("min_executions", DEFAULT_FEWEST_EXECUTIONS), event.get("max_executions", DEFAULT_MOST_EXECUTIONS)
    polling = event.get("polling_interval_seconds", DEFAULT_POLLING_SECONDS)
    yield from _at_least(polling, 1, where("event.polling_interval_seconds"))
    yield from _at_least(least, 0, where("event.min_executions"))
    yield from _at_least(most, max(least, 1), where("event.max_executions"))


def _numbers(args: ServerlessGpuJobSettings, where: Where) -> Iterator[Problem]:
    for key, above in (("cpu", args.get("cpu", 1)), ("memory_in_gib", args.get("memory_in_gib", 1))):
        if above <= 0:
            yield Problem(
                path=where(key), message="this has to be above 0", value=above, fix="write how much the job needs, or remove it"
            )
    parallelism = args.get("parallelism", DEFAULT_PARALLELISM)
    completions = args.get("completions", parallelism)
    yield from _at_least(args.get("retries", DEFAULT_RETRIES), 0, where("retries"))
    yield from _at_least(args.get("timeout_minutes", DEFAULT_TIMEOUT_MINUTES), 1, where("timeout_minutes"))
    yield from _at_least(parallelism, 1, where("parallelism"))
    yield from _at_least(completions, 1, where("completions"))
    if completions > max(parallelism, 1):
        yield Problem(
            path=where("completions"),
            message=f"of {parallelism} replicas side by side, {completions} can't succeed; whether further ones with a GPU would "
            "follow isn't known",
            value=completions,
            allowed=f"1 to {parallelism}, the parallelism",
            fix=f"write {parallelism}, or parallelism: {completions}",
            source=_COMPLETIONS_SOURCE,
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )


def _at_most(args: ServerlessGpuJobSettings, where: Where) -> Iterator[Problem]:
    """What one start, or one poll of events, may cost at most, where that is more than somebody may have meant."""
    parallelism = args.get("parallelism", DEFAULT_PARALLELISM)
    executions = args["event"].get("max_executions", DEFAULT_MOST_EXECUTIONS) if "event" in args else 1
    if parallelism * executions > MANY_GPUS:
        poll = executions > 1
        many = (
            f"{executions} executions of {parallelism} replicas each at one poll" if poll else f"{parallelism} replicas at once"
        )
        yield Problem(
            path=where("event.max_executions" if poll else "parallelism"),
            message=f"this starts up to {many}, each with a GPU that is billed by the second and counts against the "
            "environment's quota",
            value=executions if poll else parallelism,
            allowed=f"more than {MANY_GPUS} GPUs together are warned of, which is this program's own measure",
            fix="lower it, or ask for that much quota: `az containerapp env list-usages` shows the environment's",
            source=str(container_apps.SERVERLESS_PAGE),
            severity=Severity.WARNING,
        )
    timeout = args.get("timeout_minutes", DEFAULT_TIMEOUT_MINUTES)
    if timeout > MANY_HOURS * 60:
        yield Problem(
            path=where("timeout_minutes"),
            message=f"a replica that hangs keeps its GPU, and is billed, for {timeout / 60:g} hours",
            value=timeout,
            allowed=f"more than {MANY_HOURS} hours are warned of, which is this program's own measure",
            fix="write the time that the work takes at most, and have it save its state",
            severity=Severity.WARNING,
        )


def _at_least(value: int, least: int, path: str) -> Iterator[Problem]:
    if value < least:
        yield Problem(path=path, message="this is too small", value=value, allowed=f"{least} or more", fix=f"write {least}")
