"""Validates an online endpoint and its deployments: what they require of the workspace and of each other.

The service's own rules are in `catalog.services.machine_learning`. A missing workspace, None here, is reported elsewhere.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from azure_gpu.catalog import names, spelling
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.machine_learning import deployments, endpoints
from azure_gpu.catalog.services.machine_learning.deployments import METRICS, MODEL_FOLDER_VARIABLE, WHOLE, TrafficRequest
from azure_gpu.formats import azure_types
from azure_gpu.ml.dependencies import ComputeOfEndpoint, WorkspaceOfEndpoint
from azure_gpu.ml.endpoint.args import MANAGED as MANAGED_COMPUTE, MlEndpointSettings
from azure_gpu.ml.endpoint.deployments import DeploymentSpec
from azure_gpu.ml.endpoint.spec import MlEndpointSpec
from azure_gpu.ml.workspace.rules import same_names
from azure_gpu.shared.wording import give_part, has_no, with_part

EXISTING = ("/", "azureml:")  # prefixes of ids of assets that the stack hasn't created
_SERVED_BY_AZURE = ("mlflow", "triton")  # types of models that need neither environment nor code


def is_existing(reference: str) -> bool:
    """Whether a reference is the id of an asset, rather than a name of the stack file."""
    return reference.startswith(EXISTING)


def deployment_problems(
    spec: DeploymentSpec,
    endpoint_name: str,
    workspace: WorkspaceOfEndpoint | None,
    compute: ComputeOfEndpoint | None,
    day: date,
) -> list[Problem]:
    """All problems of one deployment."""
    found = deployments.deployment_problems(
        spec.kind,
        spec.name,
        endpoint_name,
        spec.most,
        spec.timeout_seconds,
        day,
        path=spec.path,
        instances_path=f"{spec.path}.autoscale.max" if spec.most > spec.instances else f"{spec.path}.instances",
    )
    found += [*_machines(spec, compute), *_scale(spec)]
    for kind, probe in spec.probes.items():
        found += deployments.probe_problems(probe, f"{spec.path}.probes.{kind}", liveness=kind == "liveness")
    found += deployments.limits_problems(spec.limits)
    if workspace is not None:
        found += [*_assets(spec, workspace), *_egress(spec, workspace)]
    return found


def _machines(spec: DeploymentSpec, compute: ComputeOfEndpoint | None) -> Iterator[Problem]:
    path = f"{spec.path}.instance_type"
    if compute is not None and compute["kind"] != "Kubernetes":
        return  # reported for the compute
    if spec.instance_type:
        if compute is not None and spec.instance_type not in compute["gpus"]:
            yield _not_there("endpoint.type_not_there", path, spec.instance_type, compute["gpus"])
    elif spec.managed:
        yield refused("endpoint.no_size", path, t4=", ".join(one.name for one in endpoints.MANAGED_SIZES if "T4" in one.name))
    elif compute is not None:
        yield refused("endpoint.no_instance_type", path, allowed=", ".join(compute["gpus"]) or "none")


def _not_there(row: str, path: str, value: str, known: Iterable[str], none: str = "none", **words: Any) -> Problem:
    """A problem of a name that isn't `known`, with the nearest that is."""
    close = spelling.nearest(value, known, 1)
    fix = f"did you mean {close[0]}?" if close else None
    return refused(row, path, value, allowed=", ".join(known) or none, fix=fix, instead=close, **words)


def _scale(spec: DeploymentSpec) -> Iterator[Problem]:
    scale, given = spec.autoscale, spec.settings.get("autoscale", {})
    if scale is None:
        return
    row = "endpoint.scaled_as_on_kubernetes" if spec.managed else "endpoint.scaled_as_on_machines"
    for key in ("utilization_percent",) if spec.managed else (*METRICS, "window_minutes", "cooldown_minutes"):
        if key in given:
            # pyrefly: ignore[bad-typed-dict-key]
            yield refused(row, f"{scale.path}.{key}", given[key])
    yield from deployments.autoscale_problems(scale)
    if not spec.managed and not 0 < spec.utilization <= 100:
        path, usual = f"{scale.path}.utilization_percent", deployments.DEFAULT_UTILIZATION
        yield refused("endpoint.utilization", path, spec.utilization, usual=usual)
    if not scale.least <= spec.instances <= max(scale.most, scale.least):
        yield refused("endpoint.begins_outside", f"{spec.path}.instances", spec.instances, scale=scale)


def _assets(spec: DeploymentSpec, workspace: WorkspaceOfEndpoint) -> Iterator[Problem]:
    code, mounted = spec.settings.get("code"), spec.settings.get("model_mount_path", "")
    yield from _unknown_asset("models", "model", spec.model, workspace["models"], f"{spec.path}.model")
    environments, path = workspace["environments"], f"{spec.path}.environment"
    yield from _unknown_asset("environments", "environment", spec.environment, environments, path)
    if code is not None:
        yield from _unknown_asset("code", "code", code["code"], workspace["code"], f"{spec.path}.code.code")
    model, environment = workspace["models"].get(spec.model), environments.get(spec.environment)
    served = model is not None and model["type"] in _SERVED_BY_AZURE
    if not spec.environment and not served and (model is not None or not spec.model):  # nothing is known of any other model
        yield refused("endpoint.no_environment", path, allowed=", ".join(environments) or "none")
    if environment is not None and not environment["serves"] and code is None and not served:
        yield refused("endpoint.no_code", f"{spec.path}.code")
    if environment is not None and environment["needs_model"] and not _has_model(spec):
        allowed = ", ".join(workspace["models"]) or "none under models"
        yield refused("endpoint.no_model", f"{spec.path}.model", allowed=allowed, spec=spec)
    if environment is not None and environment["gpu"] and spec.gpu is False:
        row = "endpoint.size_without_gpu" if spec.managed else "endpoint.type_without_gpu"
        size = spec.instance_type or "this size"
        yield refused(row, f"{spec.path}.instance_type", spec.instance_type or None, spec=spec, size=size)
    if mounted and not mounted.startswith("/"):
        yield refused("endpoint.relative_path", f"{spec.path}.model_mount_path", mounted)


def _has_model(spec: DeploymentSpec) -> bool:
    """Without a model in its image, the server exits at its start unless the deployment has one."""
    variables = spec.settings.get("environment_variables", {})
    return bool(spec.model) or "code" in spec.settings or MODEL_FOLDER_VARIABLE in variables


def _unknown_asset(key: str, noun: str, reference: str, known: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """The problem of a model, an environment or code that doesn't exist."""
    if reference and not is_existing(reference) and reference not in known:
        yield _not_there("endpoint.asset_not_there", path, reference, known, f"none under {key}", noun=noun, key=key)


def _egress(spec: DeploymentSpec, workspace: WorkspaceOfEndpoint) -> Iterator[Problem]:
    egress, path = spec.settings.get("egress", "public"), f"{spec.path}.egress"
    if egress != "private":
        return
    if not spec.managed:
        yield refused("endpoint.egress_on_kubernetes", path, egress)
    elif workspace["managed_network"]:
        yield refused("endpoint.egress_in_managed_network", path, egress)
    elif workspace["public"] and not workspace["existing"]:
        yield refused("endpoint.egress_to_public", path, egress)


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
        fitting = [MANAGED_COMPUTE, *(name for name, each in workspace["computes"].items() if each["kind"] == "Kubernetes")]
        found.append(_not_there("endpoint.compute_not_there", f"{spec.path}.compute", spec.compute, fitting))
    elif workspace is not None:
        kind = compute["kind"] if compute is not None else ""
        found += deployments.endpoint_problems(spec.auth, spec.kind, spec.compute, kind, day, path=spec.path)
    if spec.network == "private" and not spec.managed:
        found.append(refused("endpoint.private_on_kubernetes", f"{spec.path}.network", spec.network))
    elif spec.network == "private" and workspace is not None and not workspace["reached_privately"]:
        found.append(refused("endpoint.not_reached_privately", f"{spec.path}.network", spec.network))
    return found


def sharing_problems(args: MlEndpointSettings, spec: MlEndpointSpec) -> list[Problem]:
    """Problems of the deployments' names and of the traffic split."""
    path, below = f"{spec.path}.traffic", f"{spec.path}.deployments"
    request = TrafficRequest(spec.path, tuple(spec.deployments), spec.traffic, spec.mirror, spec.kind)
    shares = deployments.traffic_problems(request)
    if not spec.deployments:
        return [refused("endpoint.no_deployments", below), *shares]
    if len(spec.deployments) > 1 and "traffic" not in args:
        (first, second, *_), listed = spec.deployments, ", ".join(spec.deployments)
        missing = refused("endpoint.no_traffic", path, names=listed, whole=WHOLE, first=first, second=second)
        shares = [missing, *(problem for problem in shares if problem.path != path)]
    return [*same_names(spec.deployments, below, "deployment"), *shares]


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
