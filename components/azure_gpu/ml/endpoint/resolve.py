"""Resolves the arguments of an online endpoint: every default filled in, and every problem found. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

from azure_gpu.catalog import names, spelling
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.hourly_cost import HourlyCost, Machines, of_machines
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.machine_learning import deployments, traffic
from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES
from azure_gpu.catalog.services.machine_learning.deployments import MANAGED, EndpointRequest
from azure_gpu.catalog.services.machine_learning.traffic import WHOLE, TrafficRequest
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.formats import azure_types
from azure_gpu.formats.tags import EXPIRES_AT
from azure_gpu.ml.dependencies import ComputeKind, ComputeOfEndpoint, WorkspaceOfEndpoint
from azure_gpu.ml.endpoint import deployments as endpoint_deployments, rules as endpoint_rules
from azure_gpu.ml.endpoint.args import (
    MANAGED as MANAGED_COMPUTE,
    Auth,
    EndpointIdentity,
    EndpointMonitoring,
    EndpointNetwork,
    MlEndpointSettings,
)
from azure_gpu.ml.endpoint.deployments import DeploymentSpec, Surrounded
from azure_gpu.ml.endpoint.spec import AUTH_MODES, MlEndpointSpec
from azure_gpu.shared.context import Context, check_tags, resolve_day
from azure_gpu.shared.end_dates import resolve_end


def resolve(
    name: str, args: MlEndpointSettings, context: Context, workspace: WorkspaceOfEndpoint | None
) -> tuple[MlEndpointSpec, list[Problem]]:
    """What is declared for the endpoint that the stack file calls `name`, and what is wrong with the arguments. Pure.

    `workspace`: None where the stack file says none, which whoever reads it reports.
    """
    path = f"ml_endpoints.{name}"
    as_of, problems = resolve_day(args.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    location = workspace["location"] if workspace else context.location
    compute_name = args.get("compute", MANAGED_COMPUTE)
    compute = workspace["computes"].get(compute_name) if workspace else None
    kind = MANAGED if compute_name == MANAGED_COMPUTE else KUBERNETES
    azure_name = args.get("endpoint_name") or context.name(azure_types.ML_ONLINE_ENDPOINT.arm_type, name)
    tags = {**context.tags(as_of), **args.get("tags", {})}
    every = {
        each: endpoint_deployments.resolve(
            each, said, Surrounded(path=f"{path}.deployments", kind=kind, compute=compute, tags=tags)
        )
        for each, said in args["deployments"].items()
    }
    expires_at, end_problems = _end(args, every, day, path)
    ends = {EXPIRES_AT: expires_at} if expires_at else {}
    every = {each: replace(spec, tags={**spec.tags, **ends}) for each, spec in every.items()}
    uses = {spec.path: _use(spec, location) for spec in every.values() if spec.managed and spec.instance_type}
    spec = MlEndpointSpec(
        context=context,
        path=path,
        name=azure_name,
        location=location,
        location_path="location",
        kind=kind,
        compute="" if kind == MANAGED else compute_name,
        auth=Auth(args.get("auth", Auth.ENTRA if kind == MANAGED else Auth.AML_TOKEN)),
        network=EndpointNetwork(args.get("network", _usual_network(kind, workspace))),
        identity=EndpointIdentity(args["identity"]) if "identity" in args else None,
        description=args.get("description", ""),
        deployments=every,
        traffic=_traffic(args),
        mirror={each: int(share) for each, share in args.get("mirror", {}).items() if share != 0},
        logs=EndpointMonitoring(args.get("monitoring", EndpointMonitoring.LOGS)) is EndpointMonitoring.LOGS,
        tags={**tags, **ends},
        expires_at=expires_at,
        cost=_cost(every, location, most=True),
        idle=_cost(every, location, most=False),
        uses=tuple(uses.values()),
    )
    problems += [*end_problems, *_endpoint_problems(args, spec, workspace, compute, day)]
    for each, said in args["deployments"].items():
        problems += endpoint_rules.of_deployment(said, every[each], spec.name, workspace, compute, day)
        problems += check_tags(said.get("tags", {}), f"{every[each].path}.tags")
    problems += [*endpoint_rules.of_sizes(uses, day), *_named_twice(spec), *_sharing_problems(args, spec)]
    return spec, [*problems, *check_tags(args.get("tags", {}), f"{path}.tags")]


def _end(args: MlEndpointSettings, every: dict[str, DeploymentSpec], day: date, path: str) -> tuple[str | None, list[Problem]]:
    """The last day, which what has a GPU needs, and anything else may have."""
    if "expires_after" not in args and not any(spec.gpu for spec in every.values()):
        return None, []
    return resolve_end(args.get("expires_after"), day, f"{path}.expires_after", "an endpoint")


def _usual_network(kind: str, workspace: WorkspaceOfEndpoint | None) -> EndpointNetwork:
    private = kind == MANAGED and workspace is not None and not workspace["public"]
    return EndpointNetwork.PRIVATE if private else EndpointNetwork.PUBLIC


def _use(spec: DeploymentSpec, location: str) -> SizeUse:
    return SizeUse(
        service=Service.ML_ENDPOINT,
        size=spec.instance_type,
        region=location,
        path=f"{spec.path}.instance_type",
        region_path="location",
        nodes=spec.most,
    )


def _traffic(args: MlEndpointSettings) -> dict[str, int]:
    """The share of every deployment, so that a change of shares is a change of numbers and of nothing else."""
    names_of_all = list(args["deployments"])
    said = args.get("traffic", {names_of_all[0]: WHOLE} if len(names_of_all) == 1 else {})
    return {**dict.fromkeys(names_of_all, 0), **{name: int(share) for name, share in said.items()}}


def _cost(every: dict[str, DeploymentSpec], location: str, *, most: bool) -> HourlyCost:
    managed = [spec for spec in every.values() if spec.managed]
    machines = [Machines(spec.instance_type, spec.most if most else spec.least) for spec in managed]
    return of_machines(machines, location, packaged())


def _endpoint_problems(
    args: MlEndpointSettings,
    spec: MlEndpointSpec,
    workspace: WorkspaceOfEndpoint | None,
    compute: ComputeOfEndpoint | None,
    day: date,
) -> list[Problem]:
    found: list[Problem] = []
    if "endpoint_name" in args:
        found += names.check(azure_types.ML_ONLINE_ENDPOINT.arm_type, spec.name, f"{spec.path}.endpoint_name")
    if workspace is not None and spec.compute and compute is None:
        found.append(_no_such_compute(spec, workspace))
    elif workspace is not None:
        asked = EndpointRequest(
            name=spec.name,
            auth_mode=spec.auth_mode,
            kind=spec.kind,
            name_path=f"{spec.path}.endpoint_name",
            auth_path=f"{spec.path}.auth",
            kind_path=f"{spec.path}.compute",
            compute_path=f"{spec.path}.compute",
            compute_kind=compute["kind"].value if compute is not None else "",
        )
        said = {problem.path for problem in found}
        found += [_in_our_words(one, spec) for one in deployments.endpoint_problems(asked, day) if one.path not in said]
    if spec.network is EndpointNetwork.PRIVATE and not spec.managed:
        found.append(
            Problem(
                path=f"{spec.path}.network",
                message="on Kubernetes the router of the compute's extension says from where an endpoint is asked",
                value=spec.network.value,
                allowed="with compute: managed alone",
                fix="remove it, and write extension.internal: true for the compute, as it is by default",
            )
        )
    elif spec.network is EndpointNetwork.PRIVATE and workspace is not None and not workspace["reached_privately"]:
        found.append(
            Problem(
                path=f"{spec.path}.network",
                message="a private endpoint is reached through the workspace's private endpoint, and the workspace has none",
                value=spec.network.value,
                allowed="public, which still lets nobody in who can't sign on",
                fix="add private_endpoint: {subnet_id: <id>} to the workspace, or leave it out here",
            )
        )
    return found


def _in_our_words(problem: Problem, spec: MlEndpointSpec) -> Problem:
    """What is wrong with how people sign on, or with the compute, as a stack file says it."""
    if problem.path == f"{spec.path}.compute":
        return problem._replace(value=spec.compute or None)
    if problem.path != f"{spec.path}.auth":
        return problem
    allowed, fix = problem.allowed, problem.fix
    for ours, azures in AUTH_MODES.items():
        allowed, fix = allowed.replace(azures, ours), fix.replace(azures, f"auth: {ours}")
    return problem._replace(value=spec.auth.value, allowed=allowed, fix=fix)


def _no_such_compute(spec: MlEndpointSpec, workspace: WorkspaceOfEndpoint) -> Problem:
    fitting = [name for name, each in workspace["computes"].items() if each["kind"] is ComputeKind.KUBERNETES]
    close = spelling.nearest(spec.compute, [MANAGED_COMPUTE, *fitting], 1)
    return Problem(
        path=f"{spec.path}.compute",
        message="the workspace has no such compute",
        value=spec.compute,
        allowed=", ".join([MANAGED_COMPUTE, *fitting]),
        fix=f"did you mean {close[0]}?" if close else "declare it under the workspace's computes, or write managed",
        instead=close,
        code=Code.NOT_FOUND,
    )


def _named_twice(spec: MlEndpointSpec) -> Iterator[Problem]:
    """Azure takes a deployment's name in any letter case for the same."""
    first: dict[str, str] = {}
    for name, deployment in spec.deployments.items():
        taken = first.setdefault(name.lower(), name)
        if taken != name:
            yield Problem(
                path=deployment.path,
                message=f"{taken} has this name in Azure too",
                value=name,
                allowed="a name that no other deployment has",
                fix="rename one of the two",
            )


def _sharing_problems(args: MlEndpointSettings, spec: MlEndpointSpec) -> list[Problem]:
    """What is wrong with how requests are shared out."""
    path = f"{spec.path}.traffic"
    if not spec.deployments:
        message = "without a deployment nobody answers; a request gets 404"
        fix = "declare one, such as blue"
        return [
            Problem(path=f"{spec.path}.deployments", message=message, fix=fix, severity=Severity.WARNING),
            *_shares(spec, path),
        ]
    if len(spec.deployments) > 1 and "traffic" not in args:
        first, second, *_ = spec.deployments
        return [
            Problem(
                path=path,
                message="with several deployments it has to be said how they share the requests",
                allowed=f"percent for each of {', '.join(spec.deployments)}, together {WHOLE}",
                fix=f"write traffic: {{{first}: {WHOLE}, {second}: 0}}",
            ),
            *(problem for problem in _shares(spec, path) if problem.path != path),
        ]
    return _shares(spec, path)


def _shares(spec: MlEndpointSpec, path: str) -> list[Problem]:
    return traffic.problems(
        TrafficRequest(
            deployments=tuple(spec.deployments),
            traffic=spec.traffic,
            mirror=spec.mirror,
            kind=spec.kind,
            deployments_path=f"{spec.path}.deployments",
            traffic_path=path,
            mirror_path=f"{spec.path}.mirror",
        )
    )


def surroundings_problems(spec: MlEndpointSpec, *, identity: bool) -> Iterator[Problem]:
    """What the endpoint needs of the foundation and doesn't find there."""
    if spec.identity is EndpointIdentity.STACK and not identity:
        yield Problem(
            path=f"{spec.path}.identity",
            message="the stack has no identity",
            value=spec.identity.value,
            allowed="system, or an identity in the foundation",
            fix="write foundation: {identity: create}, or identity: system",
        )
