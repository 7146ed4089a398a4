"""Converts clusters and web services of version 1 of the SDK: a cluster with a GPU pool, a compute on it, the model, the
environment, and an endpoint with one deployment."""

from collections.abc import Iterator
from datetime import date
from typing import Any

from azure_gpu.catalog import offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.size_use import Service as Taker, SizeUse
from azure_gpu.formats.dates import days_later
from azure_gpu.formats.old_machine_learning.project import Cluster, Model, OldProject, Service, Setting
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.importing.blocks import Entry
from azure_gpu_operations.importing.names import fitting

CLUSTER = "gpu"  # if the script has no name of the cluster
ENDPOINT = "model"  # if it has no name of the service
DEPLOYMENT = "blue"
INSTANCE_TYPE = "gpu"
SCORING = "scoring"
_LONGEST_ENDPOINT = 32
# Of AksWebservice.deploy_configuration, azureml-core 1.61.0.
_CPU, _MEMORY_GB, _MOST_REPLICAS = 0.1, 0.5, 10
_TAINT = "ml.azure.com/amlarc=true:NoSchedule"  # Microsoft Learn, machine-learning/reference-kubernetes, 2022-06-06
_NUMBERS = (
    *("cpu_cores", "memory_gb", "gpu_cores", "num_replicas", "autoscale_min_replicas", "autoscale_max_replicas"),
    *("autoscale_target_utilization", "scoring_timeout_ms", "replica_max_concurrent_requests", "max_request_wait_time"),
)
_GONE = (Code.RETIRED, Code.NOT_OFFERED)


def of_services(found: OldProject, name: str, location: str, as_of: date, own_day: bool) -> tuple[list[Entry], list[Problem]]:
    """`name`: what the stack file calls the only endpoint."""
    day = {"as_of": as_of.isoformat()} if own_day else {}
    end = {"expires_after": days_later(as_of, PROPOSED_DAYS).isoformat()}
    entries: list[Entry] = []
    problems = list(_no_numbers(found))
    found = found._replace(services=tuple(map(_with_numbers, found.services)))
    clusters = {fitting(one.name) if one.name else CLUSTER: one for one in found.clusters}
    for called, cluster in clusters.items():
        settings, comments, wrong = _cluster(cluster, location, as_of)
        problems += wrong
        entries.append(Entry("clusters", called, {**settings, **end, **day}, comments, [], True))
    compute = next(iter(clusters), CLUSTER)
    if clusters:
        first = found.services[0] if found.services else None
        comments = [str(setting) for setting in first.settings if _of_instance_type(setting)] if first else []
        comments.append(
            "the old service answered by HTTP unless it had a certificate: `insecure: true` goes on with that, inside the "
            "cluster's own network; write `host_name` and `tls_secret` in its place"
        )
        entries.append(Entry("ml_workspace", "computes", {compute: _compute(compute, first)}, comments, [], True))
    models = {one.name: one for one in (*found.models, *(model for service in found.services for model in service.models))}
    if models:
        comments = [f"{one.at}: put it there with `{COMMAND} upload-model FOLDER`" for one in models.values()]
        held = {fitting(one.name): _model(one) for one in models.values()}
        entries.append(Entry("ml_workspace", "models", held, comments, [], True))
    if found.services or found.scripts:
        entries.append(Entry("ml_workspace", "environments", {SCORING: {"workload": SCORING}}, list(_scoring(found)), [], True))
    for service in found.services:
        called = name if name and len(found.services) == 1 else fitting(service.name or ENDPOINT)[:_LONGEST_ENDPOINT]
        settings = {**_endpoint(service, compute if clusters else ""), **end, **day}
        comments = [str(setting) for setting in service.settings if not _of_instance_type(setting)]
        entries.append(Entry("ml_endpoints", called, settings, comments, [], True))
    return entries, problems


def _no_numbers(found: OldProject) -> Iterator[Problem]:
    for service in found.services:
        for name, value in service.deployment.items():
            if name in _NUMBERS and not _is_number(value):
                fix = "write a number; until then it is ignored"
                yield Problem(f"{service.at}: {name}", "this takes a number", value, fix=fix, severity=Severity.WARNING)


def _with_numbers(service: Service) -> Service:
    options = {name: value for name, value in service.deployment.items() if name not in _NUMBERS or _is_number(value)}
    return service._replace(deployment=options)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and value >= 0


def _cluster(cluster: Cluster, location: str, as_of: date) -> tuple[dict[str, Any], list[str], list[Problem]]:
    """One that was attached stays what it is; one that was made gets a pool that comes from no node."""
    comments = [str(setting) for setting in cluster.settings]
    if cluster.existing:
        comments.append(f"{cluster.at}: it was attached, and is used as it is: write its whole id")
        return {"existing": cluster.existing}, comments, []
    at = f"{cluster.at}: vm_size"
    use = SizeUse(Taker.AKS, cluster.size, location, at, "location", nodes=cluster.nodes)
    found = offers.check(use, as_of, prices=packaged())
    gone = next((problem for problem in errors(found) if problem.code in _GONE and problem.instead), None)
    size = gone.instead[0] if gone else cluster.size
    if gone:
        comments.append(f"{gone.path}: {gone.message}. What to do: {gone.fix}.")
        found = [problem for problem in found if problem is not gone]
    problems = [problem._replace(severity=Severity.WARNING) if problem.code is Code.UNKNOWN else problem for problem in found]
    comments.append("Azure Machine Learning's extension requires local accounts, and its pods tolerate only this taint")
    pool = {"size": size, "max_nodes": cluster.nodes, "taints": [_TAINT]}
    return {"gpu_pools": {"gpu": pool}, "access": {"local_accounts": True}}, comments, problems


def _compute(cluster: str, service: Service | None) -> dict[str, Any]:
    options = service.deployment if service else {}
    instance = {
        "cpu": f"{float(options.get('cpu_cores', _CPU)):g}",
        "memory": f"{max(1, round(float(options.get('memory_gb', _MEMORY_GB)) * 1000))}M",
        "gpus": int(options.get("gpu_cores", 1)) if service is None or service.inference.get("enable_gpu", True) else 0,
    }
    settings: dict[str, Any] = {"cluster": cluster}
    settings |= {"namespace": options["namespace"]} if "namespace" in options else {}
    return {**settings, "instance_types": {INSTANCE_TYPE: instance}, "extension": {"insecure": True}}


def _model(model: Model) -> dict[str, Any]:
    version = model.version or "1"
    return {"version": version, "path": f"{model.name}/{version}"}


def _scoring(found: OldProject) -> Iterator[str]:
    """What the old script had, and what the workload has in its place."""
    yield (
        "the workload `scoring` does what the article's score.py did: an image is the body of a POST, GET is answered with "
        "405, and a model with two inputs is refused"
    )
    for script in found.scripts:
        for call in script.calls:
            yield str(call)


def _endpoint(service: Service, compute: str) -> dict[str, Any]:
    options = service.deployment
    deployment: dict[str, Any] = {}
    if service.models:
        deployment["model"] = fitting(service.models[0].name)
    deployment |= {"environment": SCORING, "instance_type": INSTANCE_TYPE}
    scales = options.get("autoscale_enabled", "num_replicas" not in options)
    if scales:
        least = max(1, int(options.get("autoscale_min_replicas", 1)))
        deployment["autoscale"] = {"min": least, "max": int(options.get("autoscale_max_replicas", _MOST_REPLICAS))}
        if "autoscale_target_utilization" in options:
            deployment["autoscale"]["utilization_percent"] = int(options["autoscale_target_utilization"])
    else:
        deployment["instances"] = int(options.get("num_replicas", 1))
    deployment |= _requests(options)
    auth = "aml_token" if options.get("token_auth_enabled") else "key"
    settings: dict[str, Any] = {"compute": compute} if compute else {}
    return {**settings, "auth": auth, "deployments": {DEPLOYMENT: deployment}, "traffic": {DEPLOYMENT: 100}}


def _requests(options: dict[str, Any]) -> dict[str, Any]:
    requests: dict[str, Any] = {}
    if "scoring_timeout_ms" in options:
        requests["timeout_seconds"] = float(options["scoring_timeout_ms"]) / 1000
    if "replica_max_concurrent_requests" in options:
        requests["concurrent"] = int(options["replica_max_concurrent_requests"])
    if "max_request_wait_time" in options:
        requests["queue_seconds"] = float(options["max_request_wait_time"]) / 1000
    return {"requests": requests} if requests else {}


def _of_instance_type(setting: Setting) -> bool:
    return "instance type" in setting.old.today
