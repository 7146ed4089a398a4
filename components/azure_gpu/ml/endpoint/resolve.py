"""Resolves the arguments of an online endpoint: fills in all defaults and finds all problems. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import partial

from azure_gpu.catalog import lifecycle, offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.hourly_cost import HourlyCost, Machines, of_machines
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES
from azure_gpu.catalog.services.machine_learning.deployments import MANAGED, WHOLE
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.formats import azure_types
from azure_gpu.formats.dates import End, resolve_day, resolve_end
from azure_gpu.ml.dependencies import WorkspaceOfEndpoint
from azure_gpu.ml.endpoint import deployments as endpoint_deployments
from azure_gpu.ml.endpoint.args import MANAGED as MANAGED_COMPUTE, EndpointNetwork, MlEndpointSettings
from azure_gpu.ml.endpoint.deployments import DeploymentSpec
from azure_gpu.ml.endpoint.rules import deployment_problems, endpoint_problems, sharing_problems
from azure_gpu.ml.endpoint.spec import MlEndpointSpec
from azure_gpu.shared.context import Context, check_tags, known


def resolve(
    name: str, args: MlEndpointSettings, context: Context, workspace: WorkspaceOfEndpoint | None
) -> tuple[MlEndpointSpec, list[Problem]]:
    """Resolves the endpoint that the stack file calls `name`, with its problems. Pure.

    `workspace`: None if the stack file has none, which the caller reports.
    """
    path = context.path("ml_endpoints", name)
    as_of, problems = resolve_day(args.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    location = workspace["location"] if workspace else context.location
    compute_name = args.get("compute", MANAGED_COMPUTE)
    compute = workspace["computes"].get(compute_name) if workspace else None
    kind = MANAGED if compute_name == MANAGED_COMPUTE else KUBERNETES
    tags = {**context.tags(as_of), **args.get("tags", {})}
    deployments = {
        each: endpoint_deployments.resolve(each, settings, f"{path}.deployments.{each}", kind, compute, tags)
        for each, settings in args["deployments"].items()
    }
    end, end_problems = _end(args, deployments, day, path)
    deployments = {each: replace(spec, tags={**spec.tags, **end.tags}) for each, spec in deployments.items()}
    spec = MlEndpointSpec(
        context=context,
        path=path,
        name=known(args.get("endpoint_name")) or context.name(azure_types.ML_ONLINE_ENDPOINT.arm_type, name),
        location=location,
        kind=kind,
        compute="" if kind == MANAGED else compute_name,
        auth=args.get("auth", "entra" if kind == MANAGED else "aml_token"),
        network=args.get("network", _usual_network(kind, workspace)),
        identity=args.get("identity"),
        description=args.get("description", ""),
        deployments=deployments,
        traffic=_traffic(args),
        mirror={each: int(share) for each, share in args.get("mirror", {}).items() if share != 0},
        logs=args.get("monitoring", "logs") == "logs",
        tags={**tags, **end.tags},
        expires_at=end.at,
        cost=_cost(deployments, location, most=True),
        idle=_cost(deployments, location, most=False),
        uses=tuple(_uses(deployments, location, context.own_path("location"))),
    )
    of_endpoint = lifecycle.through(lambda on: endpoint_problems(args, spec, workspace, compute, on), day, end.last)
    problems += [*end_problems, *of_endpoint]
    for each in deployments.values():
        of_deployment = partial(deployment_problems, each, spec.name, workspace, compute)
        problems += lifecycle.through(of_deployment, day, end.last)
        problems += check_tags(each.settings.get("tags", {}), f"{each.path}.tags")
    for use in spec.uses:
        problems += offers.check(use, day, prices=packaged(), until=end.last)
    return spec, [*problems, *sharing_problems(args, spec), *check_tags(args.get("tags", {}), f"{path}.tags")]


def _end(args: MlEndpointSettings, deployments: dict[str, DeploymentSpec], day: date, path: str) -> tuple[End, list[Problem]]:
    """The last day, required with a GPU, else optional."""
    if "expires_after" not in args and not any(spec.gpu for spec in deployments.values()):
        return End(), []
    return resolve_end(args.get("expires_after"), day, f"{path}.expires_after", "an endpoint")


def _usual_network(kind: str, workspace: WorkspaceOfEndpoint | None) -> EndpointNetwork:
    private = kind == MANAGED and workspace is not None and not workspace["public"]
    return "private" if private else "public"


def _uses(deployments: dict[str, DeploymentSpec], location: str, location_path: str) -> Iterator[SizeUse]:
    for spec in deployments.values():
        if spec.managed and spec.instance_type:
            yield SizeUse(
                service=Service.ML_ENDPOINT,
                size=spec.instance_type,
                region=location,
                path=f"{spec.path}.instance_type",
                region_path=location_path,
                nodes=spec.most,
            )


def _traffic(args: MlEndpointSettings) -> dict[str, int]:
    """The share of every deployment, so that a changed split changes only numbers. Unless it is set, a single one gets all."""
    none = dict.fromkeys(args["deployments"], 0)
    shares = args.get("traffic", dict.fromkeys(none, WHOLE) if len(none) == 1 else {})
    return {**none, **{name: int(share) for name, share in shares.items()}}


def _cost(deployments: dict[str, DeploymentSpec], location: str, *, most: bool) -> HourlyCost:
    managed = [spec for spec in deployments.values() if spec.managed]
    machines = [Machines(spec.instance_type, spec.most if most else spec.least) for spec in managed]
    return of_machines(machines, location, packaged())
