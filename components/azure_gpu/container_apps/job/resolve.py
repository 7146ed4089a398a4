"""Resolves and validates the arguments of a GPU job. Pure."""

from decimal import Decimal

from azure_gpu.catalog import lifecycle, names
from azure_gpu.catalog.prices import container_apps as prices
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import container_apps
from azure_gpu.container_apps.environment.args import GpuModel
from azure_gpu.container_apps.job.args import (
    DEFAULT_FEWEST_EXECUTIONS,
    DEFAULT_GPU,
    DEFAULT_MOST_EXECUTIONS,
    DEFAULT_PARALLELISM,
    DEFAULT_POLLING_SECONDS,
    DEFAULT_RETRIES,
    DEFAULT_TIMEOUT_MINUTES,
    PLACEHOLDER,
    EventArgs,
    ServerlessGpuJobSettings,
)
from azure_gpu.container_apps.job.rules import JobPaths, problems_of, service_problems
from azure_gpu.container_apps.job.spec import EventRule, Events, ServerlessGpuJobSpec
from azure_gpu.formats import azure_types
from azure_gpu.formats.tags import EXPIRES_AT
from azure_gpu.shared.context import Context, known, resolve_day
from azure_gpu.shared.end_dates import last_day, resolve_end
from azure_gpu.shared.naming import physical_name
from azure_gpu.shared.workloads import Workload


def resolve(
    name: str, args: ServerlessGpuJobSettings, context: Context, *, in_existing_environment: bool = False
) -> tuple[ServerlessGpuJobSpec, list[Problem]]:
    """Resolves and validates the job `name`. Pure."""
    path = context.path("jobs", name)
    paths = JobPaths(path, f"{path}.location" if "location" in args else context.own_path("location"))
    as_of, problems = resolve_day(args.get("as_of"), paths("as_of"))
    day = as_of or context.day
    gpu = GpuModel(args.get("gpu", DEFAULT_GPU))
    profile = container_apps.PROFILES[gpu.profile_type]
    expires_at, end_problems = resolve_end(args.get("expires_after"), day, paths("expires_after"), "a job")
    cpu, memory = float(args.get("cpu", profile.vcpus)), float(args.get("memory_in_gib", profile.memory_gib))
    location = context.region(args.get("location"))
    parallelism = int(args.get("parallelism", DEFAULT_PARALLELISM))
    own_tags = args.get("tags", {})
    spec = ServerlessGpuJobSpec(
        job_name=known(args.get("job_name")) or context.name(azure_types.JOB.arm_type, name),
        container_name=args.get("container_name") or physical_name(names.CONTAINER, [name]),
        gpu=gpu,
        image=None if "workload" in args else known(args.get("image", PLACEHOLDER)),
        workload=Workload(args["workload"]) if "workload" in args else None,
        command=tuple(args.get("command", [])),
        args=tuple(args.get("args", [])),
        environment=dict(args.get("environment", {})),
        cpu=cpu,
        memory_in_gib=memory,
        schedule=args.get("schedule"),
        events=_events(args["event"]) if "event" in args else None,
        retries=int(args.get("retries", DEFAULT_RETRIES)),
        timeout_seconds=int(args.get("timeout_minutes", DEFAULT_TIMEOUT_MINUTES)) * 60,
        parallelism=parallelism,
        completions=int(args.get("completions", parallelism)),
        location=location,
        tags={**context.tags(as_of), **own_tags, **({EXPIRES_AT: expires_at} if expires_at else {})},
        expires_at=expires_at,
        hourly_cost=_hourly_cost(gpu, cpu, memory, location, parallelism),
    )
    problems += [*end_problems, *problems_of(args, paths)]
    problems += lifecycle.through(
        lambda on: service_problems(
            gpu, spec.image, cpu, memory, location, paths, on, in_existing_environment=in_existing_environment
        ),
        day,
        last_day(args.get("expires_after")),
    )
    return spec, problems


def _events(args: EventArgs) -> Events:
    rules = [
        EventRule(
            name=name, type=rule["type"], metadata=dict(rule.get("metadata", {})), use_identity=rule.get("use_identity", False)
        )
        for name, rule in sorted(args["rules"].items())
    ]
    return Events(
        rules=tuple(rules),
        polling_interval_seconds=int(args.get("polling_interval_seconds", DEFAULT_POLLING_SECONDS)),
        min_executions=int(args.get("min_executions", DEFAULT_FEWEST_EXECUTIONS)),
        max_executions=int(args.get("max_executions", DEFAULT_MOST_EXECUTIONS)),
    )


def _hourly_cost(gpu: GpuModel, cpu: float, memory_in_gib: float, location: str, parallelism: int) -> float | None:
    """Returns the list price of an execution's replicas in USD per hour, while they run."""
    one = prices.packaged_meters().hourly_cost(Decimal(str(cpu)), Decimal(str(memory_in_gib)), prices.Meter(gpu.value), location)
    return float(one.usd_hour * parallelism) if one else None
