"""Validates an online endpoint and its deployments: what they require of the workspace and of each other.

The service's own rules are in `catalog.services.machine_learning`. A missing workspace, None here, is reported elsewhere.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from azure_gpu.catalog import names, offers, spelling
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.machine_learning import deployments, endpoints
from azure_gpu.catalog.services.machine_learning.deployments import (
    MODEL_FOLDER_VARIABLE,
    WHOLE,
    AutoscaleRequest,
    DeploymentRequest,
    EndpointRequest,
    LimitsRequest,
    ProbeRequest,
    TrafficRequest,
)
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.formats import azure_types
from azure_gpu.ml.dependencies import ComputeOfEndpoint, WorkspaceOfEndpoint
from azure_gpu.ml.endpoint.args import MANAGED as MANAGED_COMPUTE, MlDeploymentArgs, MlEndpointSettings
from azure_gpu.ml.endpoint.deployments import METRIC_KEYS, DeploymentSpec
from azure_gpu.ml.endpoint.spec import AUTH_MODES, MlEndpointSpec
from azure_gpu.shared.wording import give_part, has_no, with_part

EXISTING = ("/", "azureml:")  # prefixes of ids of assets that the stack hasn't created
_OF_MANAGED = "on machines that Azure manages"
_SERVED_BY_AZURE = ("mlflow", "triton")  # types of models that need neither environment nor code


def is_existing(reference: str) -> bool:
    """Whether a reference is the id of an asset, rather than a name of the stack file."""
    return reference.startswith(EXISTING)


def deployment_problems(
    settings: MlDeploymentArgs,
    spec: DeploymentSpec,
    endpoint_name: str,
    workspace: WorkspaceOfEndpoint | None,
    compute: ComputeOfEndpoint | None,
    day: date,
) -> list[Problem]:
    """All problems of one deployment."""
    request = DeploymentRequest(
        kind=spec.kind,
        name=spec.name,
        endpoint_name=endpoint_name,
        name_path=spec.path,
        instances_path=f"{spec.path}.autoscale.max" if spec.most > spec.instances else f"{spec.path}.instances",
        timeout_path=f"{spec.path}.requests.timeout_seconds",
        instances=spec.most if spec.autoscale else spec.instances,
        request_timeout_s=spec.timeout_seconds,
    )
    found = deployments.deployment_problems(request, day)
    found += [*_machines(spec, compute), *_scale(settings, spec), *_serving(spec)]
    if workspace is not None:
        found += [*_assets(spec, workspace), *_egress(spec, workspace)]
    return found


def size_problems(uses: Mapping[str, SizeUse], day: date, last: date | None) -> Iterator[Problem]:
    """Problems of the machine sizes of managed deployments, by the deployment's path. `last`: the endpoint's last day."""
    for use in uses.values():
        yield from offers.check(use, day, prices=packaged(), until=last)


def _machines(spec: DeploymentSpec, compute: ComputeOfEndpoint | None) -> Iterator[Problem]:
    path = f"{spec.path}.instance_type"
    if compute is not None and compute["kind"] != "Kubernetes":
        return  # reported for the compute
    if not spec.instance_type:
        if spec.managed or compute is not None:
            yield _no_machines(spec, path, compute)
    elif compute is not None and spec.instance_type not in compute["gpus"]:
        known = tuple(compute["gpus"])
        close = spelling.nearest(spec.instance_type, known, 1)
        yield Problem(
            path=path,
            message="the compute has no instance type of this name",
            value=spec.instance_type,
            allowed=", ".join(known) or "none",
            fix=f"did you mean {close[0]}?" if close else "declare it under the compute's instance_types",
            instead=close,
            code=Code.NOT_FOUND,
        )


def _no_machines(spec: DeploymentSpec, path: str, compute: ComputeOfEndpoint | None) -> Problem:
    if spec.managed:
        return Problem(
            path=path,
            message=f"a deployment {_OF_MANAGED} requires `instance_type`",
            allowed=", ".join(one.name for one in endpoints.MANAGED_SIZES if "T4" in one.name) + " and others",
            fix="set `instance_type`, such as Standard_NC4as_T4_v3",
        )
    return Problem(
        path=path,
        message="`instance_type` is not set and the compute has no default; Azure's own default has no GPU and little memory",
        allowed=", ".join(compute["gpus"] if compute else ()) or "none",
        fix="set `instance_type`, or `default_instance_type` for the compute",
    )


def _scale(settings: MlDeploymentArgs, spec: DeploymentSpec) -> Iterator[Problem]:
    if spec.autoscale is None:
        return
    path, given = f"{spec.path}.autoscale", settings.get("autoscale", {})
    other = ("utilization_percent",) if spec.managed else (*METRIC_KEYS, "window_minutes", "cooldown_minutes")
    for key in (key for key in other if key in given):
        yield Problem(
            path=f"{path}.{key}",
            message=f"only supported for deployments {'on Kubernetes' if spec.managed else _OF_MANAGED}",
            # pyrefly: ignore[bad-typed-dict-key]
            value=given[key],
            allowed=", ".join(METRIC_KEYS) if spec.managed else "utilization_percent",
            fix="remove it",
        )
    yield from deployments.autoscale_problems(
        AutoscaleRequest(
            path=path,
            least=spec.autoscale.least,
            most=spec.autoscale.most,
            thresholds=spec.autoscale.thresholds,
            threshold_paths={metric: f"{path}.{key}" for key, metric in METRIC_KEYS.items()},
            gpus=spec.gpu,
            window_minutes=spec.autoscale.window_minutes,
            cooldown_minutes=spec.autoscale.cooldown_minutes,
        )
    )
    if not spec.managed and not 0 < spec.autoscale.utilization_percent <= 100:
        yield Problem(
            path=f"{path}.utilization_percent",
            message="percentage is out of range",
            value=spec.autoscale.utilization_percent,
            allowed="1 to 100",
            fix=f"write {deployments.DEFAULT_UTILIZATION}",
        )
    if not spec.autoscale.least <= spec.instances <= max(spec.autoscale.most, spec.autoscale.least):
        yield Problem(
            path=f"{spec.path}.instances",
            message="initial number of instances is outside of `autoscale`'s range",
            value=spec.instances,
            allowed=f"{spec.autoscale.least} to {spec.autoscale.most}",
            fix="remove it, to start with `autoscale.min`",
        )


def _serving(spec: DeploymentSpec) -> Iterator[Problem]:
    path = f"{spec.path}.probes"
    yield from deployments.probe_problems(ProbeRequest(spec.liveness, f"{path}.liveness", liveness=True))
    yield from deployments.probe_problems(ProbeRequest(spec.readiness, f"{path}.readiness"))
    if spec.startup is not None:
        yield from deployments.probe_problems(ProbeRequest(spec.startup, f"{path}.startup"))
    queue = spec.queue_seconds if spec.queue_seconds is not None else deployments.DEFAULT_QUEUE_S
    yield from deployments.limits_problems(LimitsRequest(spec.kind, f"{spec.path}.requests", spec.concurrent, queue))


def _assets(spec: DeploymentSpec, workspace: WorkspaceOfEndpoint) -> Iterator[Problem]:
    model, environment = workspace["models"].get(spec.model), workspace["environments"].get(spec.environment)
    yield from _unknown_asset("models", "model", spec.model, workspace["models"], f"{spec.path}.model")
    yield from _unknown_asset(
        "environments", "environment", spec.environment, workspace["environments"], f"{spec.path}.environment"
    )
    code, mounted = spec.settings.get("code"), spec.settings.get("model_mount_path", "")
    if code is not None:
        yield from _unknown_asset("code", "code", code["code"], workspace["code"], f"{spec.path}.code.code")
    served = model is not None and model["type"] in _SERVED_BY_AZURE
    if not spec.environment and not served and (model is not None or not spec.model):  # nothing is known of any other model
        yield Problem(
            path=f"{spec.path}.environment",
            message="`environment` is required",
            allowed=", ".join(workspace["environments"]) or "none",
            fix="set `environment: <name>`, with one such as {workload: scoring} under the workspace's environments",
        )
    if environment is not None and not environment["serves"] and code is None and not served:
        yield Problem(
            path=f"{spec.path}.code",
            message="`code` is required, as the environment's image has no server of its own",
            allowed="code: {code: <name>, script: score.py}, or an environment whose image has a server",
            fix="set `code`, or use an environment of {workload: scoring}",
        )
    if environment is not None and environment["needs_model"]:
        yield from _without_model(spec, workspace)
    if environment is not None and environment["gpu"] and spec.gpu is False:
        where = spec.instance_type or "this size"
        yield Problem(
            path=f"{spec.path}.instance_type",
            message=f"environment {spec.environment} requires a GPU, and {where} has none",
            value=spec.instance_type or None,
            allowed="a size with a GPU" if spec.managed else "an instance type with gpus",
            fix="set `instance_type: Standard_NC4as_T4_v3`, or use an environment without a GPU"
            if spec.managed
            else "choose an instance type with gpus: 1 or more, or use an environment without a GPU",
            code=Code.IMPOSSIBLE,
        )
    if mounted and not mounted.startswith("/"):
        yield Problem(
            path=f"{spec.path}.model_mount_path",
            message="not an absolute path",
            value=mounted,
            allowed="a path, such as /models",
            fix=f"write /{mounted}",
        )


def _without_model(spec: DeploymentSpec, workspace: WorkspaceOfEndpoint) -> Iterator[Problem]:
    """Without a model in its image, the server exits at its start unless the deployment has one."""
    if spec.model or "code" in spec.settings or MODEL_FOLDER_VARIABLE in spec.settings.get("environment_variables", {}):
        return
    models = workspace["models"]
    yield Problem(
        path=f"{spec.path}.model",
        message=f"`model` is required, as the image of environment {spec.environment} has none in it",
        allowed=", ".join(models) or "none under models",
        fix="set `model: <name>`, of a model that was uploaded, or use an environment of {workload: digits}, which has its model "
        "in its image",
    )


def _unknown_asset(key: str, noun: str, reference: str, known: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """The problem of a model, an environment or code that doesn't exist."""
    if not reference or is_existing(reference) or reference in known:
        return
    close = spelling.nearest(reference, known, 1)
    yield Problem(
        path=path,
        message=f"the workspace has no {noun} of this name",
        value=reference,
        allowed=", ".join(known) or f"none under {key}",
        fix=f"did you mean {close[0]}?"
        if close
        else f"declare it under the workspace's {key}, or give the id of one that exists",
        instead=close,
        code=Code.NOT_FOUND,
    )


def _egress(spec: DeploymentSpec, workspace: WorkspaceOfEndpoint) -> Iterator[Problem]:
    egress = spec.settings.get("egress", "public")
    if egress != "private":
        return
    path = f"{spec.path}.egress"
    if not spec.managed:
        message, fix = "not supported on Kubernetes, where the cluster's network controls egress", "remove it"
        yield Problem(path=path, message=message, value=egress, allowed="public", fix=fix)
    elif workspace["managed_network"]:
        message = "can't be combined with the workspace's managed network, which controls egress"
        yield Problem(path=path, message=message, value=egress, allowed="public", fix="remove it", code=Code.IMPOSSIBLE)
    elif workspace["public"] and not workspace["existing"]:
        yield Problem(
            path=path,
            message="private links reach only what is private, and the workspace is public",
            value=egress,
            fix="set `network: private` for the workspace, or better its `managed_network` instead of this",
            severity=Severity.WARNING,
        )


def endpoint_problems(
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
        request = EndpointRequest(
            name=spec.name,
            auth_mode=spec.auth_mode,
            kind=spec.kind,
            name_path=f"{spec.path}.endpoint_name",
            auth_path=f"{spec.path}.auth",
            kind_path=f"{spec.path}.compute",
            compute_path=f"{spec.path}.compute",
            compute_kind=compute["kind"] if compute is not None else "",
        )
        reported = {problem.path for problem in found}
        found += [
            _in_stack_file_terms(one, spec) for one in deployments.endpoint_problems(request, day) if one.path not in reported
        ]
    if spec.network == "private" and not spec.managed:
        found.append(
            Problem(
                path=f"{spec.path}.network",
                message="not supported on Kubernetes, where the router of the compute's extension controls access",
                value=spec.network,
                allowed="only with `compute: managed`",
                fix="remove it, and set `extension.internal: true`, the default, for the compute",
            )
        )
    elif spec.network == "private" and workspace is not None and not workspace["reached_privately"]:
        found.append(
            Problem(
                path=f"{spec.path}.network",
                message="requires a private endpoint of the workspace, which has none",
                value=spec.network,
                allowed="public, which still requires authentication",
                fix="set `private_endpoint: {subnet_id: <id>}` for the workspace, or remove it here",
            )
        )
    return found


def _no_such_compute(spec: MlEndpointSpec, workspace: WorkspaceOfEndpoint) -> Problem:
    fitting = [name for name, each in workspace["computes"].items() if each["kind"] == "Kubernetes"]
    close = spelling.nearest(spec.compute, [MANAGED_COMPUTE, *fitting], 1)
    return Problem(
        path=f"{spec.path}.compute",
        message="the workspace has no compute of this name",
        value=spec.compute,
        allowed=", ".join([MANAGED_COMPUTE, *fitting]),
        fix=f"did you mean {close[0]}?" if close else "declare it under the workspace's computes, or set managed",
        instead=close,
        code=Code.NOT_FOUND,
    )


def duplicate_names(spec: MlEndpointSpec) -> Iterator[Problem]:
    """Azure ignores letter case in a deployment's name."""
    first: dict[str, str] = {}
    for name, deployment in spec.deployments.items():
        taken = first.setdefault(name.lower(), name)
        if taken != name:
            yield Problem(
                path=deployment.path,
                message=f"Azure ignores letter case, so this is the same name as {taken}",
                value=name,
                allowed="a name that no other deployment has",
                fix="rename one of the two",
            )


def sharing_problems(args: MlEndpointSettings, spec: MlEndpointSpec) -> list[Problem]:
    """Problems of the traffic split."""
    path = f"{spec.path}.traffic"
    if not spec.deployments:
        message = "without deployments every request gets 404"
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
                message="`traffic` is required with several deployments",
                allowed=f"percent for each of {', '.join(spec.deployments)}, {WHOLE} in total",
                fix=f"set `traffic: {{{first}: {WHOLE}, {second}: 0}}`",
            ),
            *(problem for problem in _shares(spec, path) if problem.path != path),
        ]
    return _shares(spec, path)


def missing_dependencies(spec: MlEndpointSpec, *, identity: bool) -> Iterator[Problem]:
    """Problems of parts of the foundation that the endpoint requires and that are missing."""
    if spec.identity == "stack" and not identity:
        yield Problem(
            path=f"{spec.path}.identity",
            message=has_no(spec.path, "identity"),
            value=spec.identity,
            allowed=f"system, or stack {with_part(spec.path, 'identity')}",
            fix=f"{give_part(spec.path, 'identity')}, or write identity: system",
        )


def _in_stack_file_terms(problem: Problem, spec: MlEndpointSpec) -> Problem:
    """A problem of auth or compute with the stack file's values."""
    if problem.path == f"{spec.path}.compute":
        return problem._replace(value=spec.compute or None)
    if problem.path != f"{spec.path}.auth":
        return problem
    allowed, fix = problem.allowed, problem.fix
    for ours, azures in AUTH_MODES.items():
        allowed, fix = allowed.replace(azures, ours), fix.replace(azures, f"auth: {ours}")
    return problem._replace(value=spec.auth, allowed=allowed, fix=fix)


def _shares(spec: MlEndpointSpec, path: str) -> list[Problem]:
    return deployments.traffic_problems(
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
