"""Microsoft's page of 2019 on inference with GPUs, step by step: a cluster with GPUs, a model that takes JPEGs as text as the
page's ResNet does, three replicas, a JPEG with the key, and everything deleted.

The stack declares the cluster, what attaches it to the workspace, and the scoring image. What the page does by version 1 of the
SDK its successor azure-ai-ml does, and `requests` asks as the page's last script does.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support import azure_ai_ml
from tests.support.embedded import ServedAzure
from tests.support.patience import SECONDS
from tests.support.stack import ProgramStack, standing
from tests.workloads.conftest import scoring_models, scoring_python
from tests.workloads.scoring_server import picture

__all__ = ["scoring_models", "scoring_python"]
# A cluster and three servers of TensorFlow: by day test_online_images serves an endpoint by pods of a cluster,
# test_online_clients drives one by azure-ai-ml, test_run_on_aks serves the same workload, and test_scoring_models tells
# images apart.
pytestmark = [pytest.mark.slow, pytest.mark.nightly]

SERVICE = "gpu-rn"  # as the page calls it
DEPLOY = """
from azure.ai.ml.entities import (
    KubernetesOnlineDeployment, KubernetesOnlineEndpoint, Model, OnlineRequestSettings, ResourceRequirementsSettings,
    ResourceSettings,
)

compute = client.compute.get("gpu")
found["compute"] = [compute.type, compute.provisioning_state]
model = client.models.create_or_update(Model(
    name="resnet50", version="1", type="custom_model", path="azureml://datastores/models/paths/resnet50/1"
))
found["model"] = [model.name, model.version]

endpoint = KubernetesOnlineEndpoint(name=given["service"], compute="gpu", auth_mode="key")
client.online_endpoints.begin_create_or_update(endpoint).result()
deployment = KubernetesOnlineDeployment(
    name="blue", endpoint_name=given["service"], model=model.id, environment=given["environment"], instance_type="gpu",
    instance_count=3, environment_variables={"WORKER_COUNT": "1"},
    request_settings=OnlineRequestSettings(request_timeout_ms=60000, max_concurrent_requests_per_instance=4),
    resources=ResourceRequirementsSettings(
        requests=ResourceSettings(cpu="0.1", memory="0.5Gi"), limits=ResourceSettings(cpu="2", memory="4Gi", gpu="1")
    ),
)
made = client.online_deployments.begin_create_or_update(deployment).result()
found["state"] = [made.provisioning_state, made.instance_count]
endpoint = client.online_endpoints.get(given["service"])
endpoint.traffic = {"blue": 100}
client.online_endpoints.begin_create_or_update(endpoint).result()
found["uri"] = client.online_endpoints.get(given["service"]).scoring_uri
found["key"] = client.online_endpoints.get_keys(given["service"]).primary_key
found["log"] = client.online_deployments.get_logs("blue", given["service"], 200)
"""
CLEAN_UP = """
from azure.core.exceptions import ResourceNotFoundError

client.online_endpoints.begin_delete(given["service"]).result()
try:
    client.online_endpoints.get(given["service"])
except ResourceNotFoundError as error:
    found["gone"] = error.status_code
"""


def configuration(azure: ServedAzure) -> dict[str, Any]:
    shared = {"strategy": "time-slicing", "replicas": 4}
    taints = ["ml.azure.com/amlarc=true:NoSchedule"]  # those alone does a pod of Azure ML tolerate
    t4 = {"size": "Standard_NC4as_T4_v3", "max_nodes": 1, "sharing": shared, "taints": taints}
    cluster = {"gpu_pools": {"t4": t4}, "access": {"local_accounts": True}, "expires_after": "2999-01-01"}
    gpu = {"cpu": "100m", "memory": "512Mi", "gpus": 1}
    attached = {"cluster": "gpu", "instance_types": {"gpu": gpu}, "extension": {"insecure": True, "high_availability": False}}
    return {
        "team": "tests",
        "location": "eastus",
        "foundation": dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create"),
        "image_source": f"{azure.url}/checkout.git#HEAD",
        "clusters": {"gpu": cluster},
        "ml_workspace": {"computes": {"gpu": attached}, "environments": {"scoring": {"workload": "scoring"}}},
    }


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path, kubernetes_bin: Path) -> Iterator[ProgramStack]:
    with standing(azure, "page-2019", configuration(azure), engine_bin=engine_bin, kubernetes_bin=kubernetes_bin) as made:
        yield made


def test_the_pages_model_is_served_by_three_replicas_asked_for_a_picture_and_deleted(
    azure: ServedAzure, stack: ProgramStack, scoring_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(azure.ca_bundle))
    outputs = stack.outputs()
    uploaded = stack.operations("upload", "model", str(scoring_models / "files"), "--name", "resnet50", "--version", "1")
    assert uploaded.returncode == 0, uploaded.stderr

    environment = outputs["ml_environments"]["scoring"]
    made = azure_ai_ml.run(azure, outputs["ml_workspace"], DEPLOY, service=SERVICE, environment=environment)
    assert made["compute"] == ["kubernetes", "Succeeded"]
    assert made["model"] == ["resnet50", "1"]
    assert made["state"] == ["Succeeded", 3]

    jpeg = tmp_path / "lynx.jpg"
    jpeg.write_bytes(picture((255, 0, 51), (220, 165), "JPEG"))
    signed = {"Authorization": "Bearer " + made["key"]}
    answer = requests.post(made["uri"], data=jpeg.read_bytes(), headers=signed, timeout=SECONDS)
    assert answer.status_code == 200, answer.text
    (scores,) = (
        answer.json()["scores"] if answer.json()["output"] == "probabilities" else answer.json()["others"]["probabilities"]
    )
    assert (len(scores), max(scores), round(sum(scores), 5)) == (3, scores[0], 1), "red is the likeliest"
    refused = requests.get(made["uri"], headers=signed, timeout=SECONDS)
    assert (refused.status_code, refused.text) == (405, "GET is not supported")
    assert requests.post(made["uri"], data=b"x", headers={"Authorization": "Bearer no"}, timeout=SECONDS).status_code == 401

    assert azure_ai_ml.run(azure, outputs["ml_workspace"], CLEAN_UP, service=SERVICE) == {"gone": 404}
