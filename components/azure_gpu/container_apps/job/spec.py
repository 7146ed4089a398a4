"""`ServerlessGpuJobSpec`: the resolved arguments of a GPU job on Container Apps, with their validation. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from azure_gpu.catalog import container_cuda, lifecycle, names
from azure_gpu.catalog.prices import container_apps as prices
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import container_apps
from azure_gpu.container_apps.environment.args import GpuModel
from azure_gpu.container_apps.job.args import (
    DEFAULT_FEWEST_EXECUTIONS,
    DEFAULT_GPU,
    DEFAULT_MOST_EXECUTIONS,
    DEFAULT_NUMBERS,
    DEFAULT_POLLING_SECONDS,
    PLACEHOLDER,
    EventArgs,
    EventRuleArgs,
    ServerlessGpuJobSettings,
)
from azure_gpu.formats import azure_types, cron, image_reference
from azure_gpu.formats.dates import resolve_day, resolve_end
from azure_gpu.shared import workloads
from azure_gpu.shared.context import Context, Tags, check_region, check_tags, known
from azure_gpu.shared.naming import physical_name
from azure_gpu.shared.wording import give_part, stacks, with_part

_RULE_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_RULES_SOURCE = "the service's own refusal, quoted in DFE-Digital/terraform-azurerm-container-apps-hosting pull request 96"
_TRIGGER_SOURCE = (
    "MicrosoftDocs/azure-docs, articles/container-apps/jobs.md; microsoft/azure-container-apps issue 1333, 2024-10-30"
)
# The page of jobs sets no limit. In that review the service's developers said that replicas are then repeated; others write that
# the service allows no more than the parallelism.
_COMPLETIONS_SOURCE = "Azure/azure-rest-api-specs pull request 21916, review of 2023-01-11"
# Thresholds of this project: no page documents the initial GPU quota of an environment; the page of 2024-11-06 had one T4.
MANY_GPUS = 8
MANY_HOURS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerlessGpuJobSpec:
    """The resolved arguments. What needs no default stays in the arguments: the program, variables, secrets, triggers."""

    job_name: str
    container_name: str
    gpu: GpuModel
    image: str | None  # as written; None where a workload is run
    workload: workloads.Workload | None
    cpu: float
    memory_in_gib: float
    retries: int
    timeout_seconds: int
    parallelism: int
    completions: int
    location: str
    tags: Tags
    expires_at: str | None  # instant in UTC, RFC 3339
    hourly_cost: float | None  # in USD, while an execution runs; None: not known


def resolve(
    name: str, args: ServerlessGpuJobSettings, context: Context, *, in_existing_environment: bool = False
) -> tuple[ServerlessGpuJobSpec, list[Problem]]:
    """Resolves and validates the job `name`. Pure."""
    path = context.path("jobs", name)
    location_path = f"{path}.location" if "location" in args else context.own_path("location")
    as_of, problems = resolve_day(args.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    gpu = args.get("gpu", DEFAULT_GPU)
    profile = container_apps.PROFILES[container_apps.serverless_of(gpu)]
    end, end_problems = resolve_end(args.get("expires_after"), day, f"{path}.expires_after", "a job")
    defaults = {"cpu": profile.vcpus, "memory_in_gib": profile.memory_gib, **DEFAULT_NUMBERS}
    numbers: dict[str, Any] = {key: args.get(key, default) for key, default in defaults.items()}
    numbers["completions"] = args.get("completions", numbers["parallelism"])
    location = context.region(args.get("location"))
    spec = ServerlessGpuJobSpec(
        job_name=known(args.get("job_name")) or context.name(azure_types.JOB.arm_type, name),
        container_name=args.get("container_name") or physical_name(names.CONTAINER, [name]),
        gpu=gpu,
        image=None if "workload" in args else known(args.get("image", PLACEHOLDER)),
        workload=args.get("workload"),
        cpu=float(numbers["cpu"]),
        memory_in_gib=float(numbers["memory_in_gib"]),
        retries=int(numbers["retries"]),
        timeout_seconds=int(numbers["timeout_minutes"]) * 60,
        parallelism=int(numbers["parallelism"]),
        completions=int(numbers["completions"]),
        location=location,
        tags={**context.tags(as_of), **args.get("tags", {}), **end.tags},
        expires_at=end.at,
        hourly_cost=_hourly_cost(gpu, numbers["cpu"], numbers["memory_in_gib"], location, int(numbers["parallelism"])),
    )
    problems += [*end_problems, *_of_settings(args, numbers, path), *check_region(args.get("location"), location_path)]
    # Of what a job uses, only the profile may end before the job does.
    what, at = f"the workload profile {profile.type}", f"{path}.gpu"
    problems += lifecycle.through(
        lambda on: lifecycle.check(profile.lifecycle, what, on, path=at, value=profile.type), day, end.last
    )
    problems += container_apps.replica_problems(profile.type, spec.cpu, spec.memory_in_gib, path)
    problems += container_cuda.check_replica(profile.type, spec.image or "", f"{path}.image")  # that of a workload isn't known
    if not in_existing_environment:  # which is looked up instead
        there = container_apps.profile_problems(profile.type, location, day, path=at, location_path=location_path)
        problems += [problem for problem in there if problem not in problems]
    return spec, problems


def _hourly_cost(gpu: GpuModel, cpu: float, memory_in_gib: float, location: str, parallelism: int) -> float | None:
    """Returns the list price of an execution's replicas in USD per hour, while they run."""
    one = prices.packaged_meters().hourly_cost(Decimal(str(cpu)), Decimal(str(memory_in_gib)), gpu, location)
    return float(one.usd_hour * parallelism) if one else None


def _of_settings(args: ServerlessGpuJobSettings, numbers: Mapping[str, float], path: str) -> Iterator[Problem]:
    """Validates the settings by themselves. `numbers`: those of a replica and of an execution, defaults included."""
    image, job = known(args.get("image")), known(args.get("job_name"))
    if "image" in args and "workload" in args:
        yield refused("jobs.image_and_workload", f"{path}.image", image, workloads=", ".join(workloads.NAMES))
    elif image is not None:
        yield from image_reference.check(image, f"{path}.image")
    if job is not None:
        yield from names.check(azure_types.JOB.arm_type, job, f"{path}.job_name")
    if "container_name" in args:
        yield from names.check(names.CONTAINER, args["container_name"], f"{path}.container_name")
    for variable in sorted(args.get("environment", {}).keys() & args.get("secret_environment", {}).keys()):
        yield refused("jobs.plain_and_secret", f"{path}.environment.{variable}")
    yield from _triggers(args.get("schedule"), args.get("event"), path)
    yield from _numbers(numbers, path)
    yield from _at_most(numbers["parallelism"], numbers["timeout_minutes"], args.get("event"), path)
    yield from check_tags(args.get("tags", {}), f"{path}.tags")


def identity_problems(path: str, args: ServerlessGpuJobSettings) -> list[Problem]:
    """Returns problems for rules that require an identity, where there is none."""
    rules = args["event"]["rules"] if "event" in args else dict[str, EventRuleArgs]()
    return [
        refused(
            "jobs.no_identity",
            f"{path}.event.rules.{name}.use_identity",
            allowed=with_part(path, "identity"),
            fix=give_part(path, "identity"),
            needed=stacks(path, "identity"),
        )
        for name, rule in rules.items()
        if rule.get("use_identity", False)
    ]


def _triggers(schedule: str | None, event: EventArgs | None, path: str) -> Iterator[Problem]:
    if schedule is not None and event is not None:
        yield refused("jobs.schedule_and_event", f"{path}.event", source=_TRIGGER_SOURCE)
    if schedule is not None:
        wrong = cron.fault(schedule)
        if wrong:
            yield refused("jobs.schedule", f"{path}.schedule", schedule, allowed=cron.SPELLING, wrong=wrong)
    if event is not None:
        yield from _event(event, path)


def _event(event: EventArgs, path: str) -> Iterator[Problem]:
    if not event["rules"]:
        yield refused("jobs.no_rule", f"{path}.event.rules")
    for name, rule in event["rules"].items():
        if not _RULE_NAME.fullmatch(name):
            yield refused("jobs.rule_name", f"{path}.event.rules.{name}", name, source=_RULES_SOURCE)
        if rule.get("use_identity", False) and rule.get("secrets"):
            yield refused("jobs.identity_and_secrets", f"{path}.event.rules.{name}.use_identity")
    least, most = event.get("min_executions", DEFAULT_FEWEST_EXECUTIONS), event.get("max_executions", DEFAULT_MOST_EXECUTIONS)
    polling = event.get("polling_interval_seconds", DEFAULT_POLLING_SECONDS)
    yield from _at_least(polling, 1, f"{path}.event.polling_interval_seconds")
    yield from _at_least(least, 0, f"{path}.event.min_executions")
    yield from _at_least(most, max(least, 1), f"{path}.event.max_executions")


def _numbers(numbers: Mapping[str, float], path: str) -> Iterator[Problem]:
    for key in ("cpu", "memory_in_gib"):
        if numbers[key] <= 0:
            yield refused("jobs.nothing_requested", f"{path}.{key}", numbers[key])
    for key, least in (("retries", 0), ("timeout_minutes", 1), ("parallelism", 1), ("completions", 1)):
        yield from _at_least(numbers[key], least, f"{path}.{key}")
    parallelism, completions = numbers["parallelism"], numbers["completions"]
    if completions > max(parallelism, 1):
        at = f"{path}.completions"
        yield refused("jobs.completions", at, completions, source=_COMPLETIONS_SOURCE, parallelism=parallelism)


def _at_most(parallelism: float, timeout: float, event: EventArgs | None, path: str) -> Iterator[Problem]:
    """Warns of a start, or a poll of events, with unusually high maximum costs."""
    executions = event.get("max_executions", DEFAULT_MOST_EXECUTIONS) if event is not None else 1
    if parallelism * executions > MANY_GPUS:
        poll = executions > 1
        many = (
            f"{executions} executions of {parallelism} replicas each at one poll" if poll else f"{parallelism} replicas at once"
        )
        key, value = ("event.max_executions", executions) if poll else ("parallelism", parallelism)
        yield refused("jobs.many_gpus", f"{path}.{key}", value, many=many, most=MANY_GPUS)
    if timeout > MANY_HOURS * 60:
        yield refused("jobs.many_hours", f"{path}.timeout_minutes", timeout, hours=timeout / 60, most=MANY_HOURS)


def _at_least(value: float, least: int, path: str) -> Iterator[Problem]:
    if value < least:
        yield refused("jobs.too_small", path, value, least=least)
