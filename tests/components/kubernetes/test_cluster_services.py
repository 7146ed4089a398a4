"""Services on a cluster: valid manifests, no request lost in an update, and their problems."""

import json
from typing import Any

import kubernetes_validate
import pytest

from azure_gpu.catalog.problems import Problem
from azure_gpu.kubernetes import services as kubernetes_services
from azure_gpu.kubernetes.gpu_objects import declare as gpu_objects_declare
from azure_gpu.kubernetes.gpu_objects.args import ClusterObjectsSettings
from azure_gpu.kubernetes.gpu_objects.resolve import resolve_objects
from azure_gpu.kubernetes.gpu_objects.spec import ClusterObjectsSpec, GpuPool
from azure_gpu.kubernetes.jobs import LOGICAL_NAME
from azure_gpu.kubernetes.service_args import ClusterServiceSettings
from azure_gpu.kubernetes.sharing_args import sharing_request
from azure_gpu.stack.settings import read
from tests.components.recording import PROJECT, STACK, SUBSCRIPTION
from tests.components.settings_of import TODAY, args_of, configuration, pure_problems

AT = "clusters.research.services.digits"
POOL = GpuPool("t4", "clusters.research.gpu_pools.t4", "Standard_NC4as_T4_v3", sharing_request({}, "sharing"))
SCORING: dict[str, Any] = {
    "workload": "scoring",
    "model": {"path": "digits/1/"},
    "cpu": 2,
    "memory_in_gib": 4,
    "autoscale": {"min": 2, "max": 5, "cpu_percent": 60},
    "environment": {"WORKER_COUNT": "2"},
    "secret_environment": {"TOKEN": "secret"},
    "reach": "network",
}
THEIRS = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/theirs"
SMALL: dict[str, Any] = {"image": "a/b:1", "gpus": 0}


def resolved(**services: dict[str, Any]) -> tuple[ClusterObjectsSpec, list[Problem]]:
    return resolve_objects(args_of(ClusterObjectsSettings, {"services": services}), [POOL], "clusters.research")


def problems(**settings: Any) -> dict[str, str]:
    found = resolved(digits={"image": "a/b:1", **settings})[1]
    return {problem.path.removeprefix(f"{AT}."): str(problem) for problem in found}


def manifests(**settings: Any) -> dict[str, dict[str, Any]]:
    """By kind."""
    spec, found = resolved(digits=settings)
    assert found == []
    made = kubernetes_services.manifests(spec.services["digits"], "r.azurecr.io/scoring:1", "account", "stack-identity")
    return {manifest["kind"]: json.loads(json.dumps(manifest)) for manifest in made}


@pytest.mark.parametrize("version", ["1.33", "1.36", "1.37"])
@pytest.mark.parametrize("settings", [SCORING, SMALL], ids=["scoring", "small"])
def test_kubernetes_takes_the_manifests(settings: dict[str, Any], version: str) -> None:
    for manifest in manifests(**settings).values():
        kubernetes_validate.validate(manifest, version, strict=True)


def test_what_belongs_to_a_service() -> None:
    assert sorted(manifests(**SCORING)) == ["Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget", "Service"]
    assert sorted(manifests(**SMALL)) == ["Deployment", "PodDisruptionBudget", "Service"]
    selector = {LOGICAL_NAME: "digits"}
    every = manifests(**SCORING)
    assert every["Service"]["spec"]["selector"] == selector
    assert every["PodDisruptionBudget"]["spec"] == {"maxUnavailable": 1, "selector": {"matchLabels": selector}}
    labels = every["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert selector.items() <= labels.items()


def test_an_update_makes_a_new_pod_before_an_old_one_goes_and_lets_it_answer_to_the_end() -> None:
    spec = manifests(**SMALL)["Deployment"]["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    [container] = spec["template"]["spec"]["containers"]
    assert container["lifecycle"] == {"preStop": {"sleep": {"seconds": 5}}}
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] == 65
    assert spec["replicas"] == 1


def test_a_pod_has_time_to_load_its_model_and_is_asked_often_afterwards() -> None:
    [container] = manifests(**SMALL)["Deployment"]["spec"]["template"]["spec"]["containers"]
    route = {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5}
    assert container["startupProbe"] == {**route, "failureThreshold": 120}
    assert container["readinessProbe"] == {**route, "failureThreshold": 3}
    assert container["livenessProbe"] == {**route, "failureThreshold": 9}
    assert container["ports"] == [{"name": "http", "containerPort": 5001}]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_the_autoscaler_owns_the_number_of_pods() -> None:
    every = manifests(**SCORING)
    assert "replicas" not in every["Deployment"]["spec"]
    scaler = every["HorizontalPodAutoscaler"]["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (2, 5)
    assert scaler["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 60}
    assert scaler["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "digits"}


def test_a_model_is_fetched_by_identity_without_a_secret() -> None:
    template = manifests(**SCORING)["Deployment"]["spec"]["template"]
    assert template["metadata"]["labels"]["azure.workload.identity/use"] == "true"
    assert template["spec"]["serviceAccountName"] == "stack-identity"
    [fetcher] = template["spec"]["initContainers"]
    assert fetcher["image"] == "mcr.microsoft.com/azure-cli:2.89.1"
    variables = {each["name"]: each["value"] for each in fetcher["env"]}
    assert variables == {
        "MODEL_ACCOUNT": "account",
        "MODEL_CONTAINER": "models",
        "MODEL_PATH": "digits/1",
        "MODEL_FOLDER": "/models",
    }
    assert "--federated-token" in fetcher["command"][-1]
    [container] = template["spec"]["containers"]
    assert {"name": "AZUREML_MODEL_DIR", "value": "/models/digits/1"} in container["env"]
    assert container["volumeMounts"] == [{"name": "model", "mountPath": "/models", "readOnly": True}]
    without = manifests(**SMALL)["Deployment"]["spec"]["template"]
    assert "initContainers" not in without["spec"]
    assert "azure.workload.identity/use" not in without["metadata"]["labels"]


def test_it_runs_on_a_gpu_pool_unless_it_needs_no_gpu() -> None:
    pod = manifests(**SCORING)["Deployment"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"azure-gpu/pool": "t4"}
    assert pod["tolerations"] == [{"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}]
    assert pod["containers"][0]["resources"] == {
        "limits": {"nvidia.com/gpu": "1", "memory": "4096Mi"},
        "requests": {"cpu": "2", "memory": "4096Mi"},
    }
    without = manifests(**SMALL)["Deployment"]["spec"]["template"]["spec"]
    assert not {"nodeSelector", "tolerations"} & without.keys()


def test_only_what_asks_for_it_is_reached_from_outside_the_cluster_and_never_from_everywhere() -> None:
    service = manifests(**SCORING)["Service"]
    assert service["spec"]["type"] == "LoadBalancer"
    assert service["metadata"]["annotations"] == {"service.beta.kubernetes.io/azure-load-balancer-internal": "true"}
    assert manifests(**SMALL)["Service"]["spec"]["type"] == "ClusterIP"


@pytest.mark.parametrize(
    ("settings", "path", "what"),
    [
        ({"replicas": 0}, "replicas", "1 or more"),
        ({"port": 0}, "port", "1 to 65535"),
        ({"probes": {"route": "healthy"}}, "probes.route", "write /healthy"),
        ({"probes": {"period_seconds": 0}}, "probes.period_seconds", "1 or more"),
        ({"autoscale": {"min": 3, "max": 2}, "cpu": 1}, "autoscale.max", "less than `autoscale.min`"),
        ({"autoscale": {"max": 2}}, "cpu", "set `cpu`"),
        ({"autoscale": {"max": 2}, "cpu": 1, "replicas": 2}, "replicas", "can't be combined with `autoscale`"),
        ({"max_unavailable": 0}, "max_unavailable", "1 or more"),
        ({"model": {"path": "/"}}, "model.path", "must name a folder"),
        ({"model": {"path": "a"}, "environment": {"AZUREML_MODEL_DIR": "/a"}}, "environment.AZUREML_MODEL_DIR", "set by `model`"),
        ({"gpus": -1}, "gpus", "1 or more"),
        ({"gpus": 2}, "gpus", "1 to 1"),
        ({"pool": "a100"}, "pool", "no GPU pool of this name"),
        ({"gpus": 0, "pool": "t4"}, "pool", "can't be combined with `gpus: 0`"),
        ({"cpu": 0}, "cpu", "greater than 0"),
        ({"workload": "scoring"}, "image", "exactly one"),
    ],
)
def test_what_is_refused(settings: dict[str, Any], path: str, what: str) -> None:
    found = problems(**settings)
    assert list(found) == [path]
    assert what in found[path]


def test_a_job_and_a_service_have_two_names() -> None:
    settings = args_of(ClusterObjectsSettings, {"services": {"digits": SMALL}, "jobs": {"digits": {"image": "a/b:1"}}})
    _, found = resolve_objects(settings, [POOL], "clusters.research")
    assert [problem.path for problem in found] == [AT]


def test_a_model_needs_an_identity_that_pods_may_speak_as_and_storage() -> None:
    spec, _ = resolved(digits=SCORING, small=SMALL)
    assert gpu_objects_declare.missing_of_services(spec, identity=True, storage=True) == []
    for identity, storage, what in ((False, True, "identity"), (True, False, "storage")):
        [problem] = gpu_objects_declare.missing_of_services(spec, identity=identity, storage=storage)
        assert problem.path == f"{AT}.model"
        assert what in problem.message


@pytest.mark.parametrize(
    ("cluster", "identity", "writes"),
    [
        ({}, "create", True),
        ({"services": {"digits": SCORING}}, "create", True),
        ({"workload_identity": False}, "create", False),
        ({"on_cluster": False}, "create", False),
        (
            {"existing": "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/c"},
            "create",
            False,
        ),
        ({}, {"existing": "/subscriptions/s/resourceGroups/g/providers/a/b/c"}, False),
    ],
    ids=["pods", "a model", "no workload identity", "nothing on it", "somebody's cluster", "somebody's identity"],
)
def test_the_stacks_identity_may_use_the_storage_where_pods_speak_as_it(cluster: Any, identity: Any, writes: bool) -> None:
    settings = {"foundation": {"identity": identity}, "clusters": {"research": cluster}}
    assert read(configuration(settings), TODAY).foundation.get("write_blobs") is writes


@pytest.mark.parametrize(
    ("cluster", "foundation", "messages"),
    [
        ({}, {"identity": "create", "storage": "create"}, []),
        ({}, {"identity": "create"}, ["the stack has no storage"]),
        ({}, {"storage": "create"}, ["the stack has no identity of its own that pods can use"]),
        (
            {"existing": THEIRS},
            {"identity": "create", "storage": "create"},
            ["the stack has no identity of its own that pods can use"],
        ),
    ],
    ids=["whole", "storage", "identity", "existing"],
)
def test_what_a_service_with_a_model_needs_is_said_with_everything_else(
    cluster: Any, foundation: Any, messages: list[str]
) -> None:
    settings = {"foundation": foundation, "clusters": {"research": {**cluster, "services": {"digits": SCORING}}}}
    found = pure_problems(read(configuration(settings), TODAY), PROJECT, STACK)
    assert [each.message for each in found if each.path == f"{AT}.model"] == messages


def test_the_registry_builds_what_services_run() -> None:
    services = {name: args_of(ClusterServiceSettings, settings) for name, settings in (("digits", SCORING), ("small", SMALL))}
    assert kubernetes_services.workloads(services) == {"scoring"}
