"""A private workspace with all that it can attach, on the real engine: machines of its own, a cluster with an endpoint on it, a
virtual machine, a managed network with its rules, and a managed endpoint that scales. And an existing workspace that is added to.

Each stack comes up once, has nothing left to change, and goes without a trace.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.localazure.conftest import new_group
from tests.localazure.ml.online_images import Images
from tests.localazure.ml.online_world import SIZE
from tests.stack.conftest import MakeStack
from tests.support import ml_resources as ml
from tests.support.embedded import ServedAzure
from tests.support.ssh_keys import PUBLIC_KEY
from tests.support.stack import ProgramStack

pytestmark = pytest.mark.slow
T4, END = "Standard_NC4as_T4_v3", {"expires_after": "2026-11-30"}
NETWORKS, AUTOSCALE = "2024-05-01", "2022-10-01"


@pytest.fixture(scope="module")
def world(azure: ServedAzure) -> Iterator[Images]:
    """What a company has already: a workspace, its storage with a model, and a registry with an image that answers."""
    made = Images(azure, new_group(azure))
    yield made
    assert azure.finished(azure.delete(made.group, "2024-03-01"))["status"] == "Succeeded"


def serving(name: str, **said: Any) -> dict[str, Any]:
    return {"model": "weights", "environment": "own", "environment_variables": {"ANSWER": name, "WEIGHTS": "none"}, **said}


def standing_on(world: Images) -> dict[str, Any]:
    parts = dict.fromkeys(["resource_group", "identity", "log_workspace"], "create")
    return {
        "team": "tests",
        "location": ml.REGION,
        "as_of": "2026-11-21",
        "foundation": {**parts, "registry": {"existing": world.registry.id}, "storage": {"existing": world.storage}},
    }


def assets(world: Images) -> dict[str, Any]:
    routes = {"port": 8000, "scoring": "/predict", "liveness": "/healthy", "readiness": "/healthy"}
    own = {"version": "1", "image": f"{world.registry.server}/tiny:1", "routes": routes}
    return {"models": {"weights": {"version": "1", "path": "first"}}, "environments": {"own": own}}


def with_everything(world: Images) -> dict[str, Any]:
    vault = world.azure.get(world.workspace, ml.ML).json()["properties"]["keyVault"]
    subnet = f"{world.group}/providers/Microsoft.Network/virtualNetworks/office/subnets/endpoints"
    types = {"small": {"cpu": "100m", "memory": "64Mi"}, "gpu": {"cpu": "100m", "memory": "64Mi", "gpus": 1}}
    taints = ["ml.azure.com/amlarc=true:NoSchedule"]
    reached = {"public_address": True, "allowed_ranges": ["AzureMachineLearning"]}
    return {
        **standing_on(world),
        "clusters": {
            "shared": {
                "access": {"local_accounts": True},
                "gpu_pools": {"t4": {"size": T4, "max_nodes": 1, "taints": taints}},
                **END,
            }
        },
        "vms": {"workshop": {"size": T4, "admin": {"ssh_public_key": PUBLIC_KEY}, **reached, **END}},
        "ml_workspace": {
            "network": "private",
            "private_endpoint": {"subnet_id": subnet},
            "managed_network": "approved_outbound",
            "outbound_rules": {
                "packages": {"fqdn": "pypi.org"},
                "monitor": {"service_tag": "AzureMonitor"},
                "vault": {"resource_id": vault, "subresource": "vault"},
                "own": {"resource_id": world.storage, "subresource": "blob"},
            },
            "computes": {
                "own": {"size": T4, **END},
                "pods": {
                    "cluster": "shared",
                    "instance_types": types,
                    "default_instance_type": "small",
                    "extension": {"router": "cluster_ip", "insecure": True},
                },
                "bench": {"vm": "workshop", "private_key": "the key of the machine"},
            },
            **assets(world),
        },
        "ml_endpoints": {
            "on-pods": {"compute": "pods", "deployments": {"blue": serving("pod", instance_type="gpu")}, **END},
            "scaled": {"auth": "key", "deployments": {"blue": serving("machine", instance_type=SIZE, autoscale={"max": 2})}},
        },
    }


def come_up(stack: ProgramStack) -> None:
    stack.create()
    stack.update()


def test_a_private_workspace_has_a_cluster_a_machine_and_endpoints_on_both(
    azure: ServedAzure, kubernetes_bin: Path, make_stack: MakeStack, world: Images
) -> None:
    stack = make_stack(azure, with_everything(world))
    come_up(stack)
    again = stack.pulumi("up", "--yes", "--skip-preview", "--refresh")
    assert again.returncode == 0, again.stdout + again.stderr
    assert stack.steps() == [], "nothing is left to change, whatever Azure shows by then"
    outputs = stack.outputs()
    workspace = azure.get(outputs["ml_workspace"], ml.ML).json()["properties"]
    assert (workspace["publicNetworkAccess"], workspace["managedNetwork"]["isolationMode"]) == (
        "Disabled",
        "AllowOnlyApprovedOutbound",
    )
    assert workspace["managedNetwork"]["outboundRules"].keys() >= {"packages", "monitor", "vault", "own"}
    shown = {name: azure.get(each, ml.ML).json()["properties"] for name, each in outputs["ml_computes"].items()}
    assert {name: each["computeType"] for name, each in shown.items()} == {
        "own": "AmlCompute",
        "pods": "Kubernetes",
        "bench": "VirtualMachine",
    }
    assert shown["own"]["properties"]["enableNodePublicIp"] is False
    assert shown["pods"]["resourceId"].lower() == outputs["clusters"]["shared"].lower()
    assert shown["bench"]["resourceId"].lower() == outputs["vms"]["workshop"].lower()
    assert shown["bench"]["properties"]["address"].startswith("203.0.113.")

    endpoints = {name: azure.get(each, ml.ML).json()["properties"] for name, each in outputs["endpoints"].items()}
    assert {name: (each["authMode"], each["publicNetworkAccess"]) for name, each in endpoints.items()} == {
        "on-pods": ("AMLToken", "Enabled"),
        "scaled": ("Key", "Disabled"),
    }
    token = azure.post(f"{outputs['endpoints']['on-pods']}/token", ml.ML).json()["accessToken"]
    key = azure.post(f"{outputs['endpoints']['scaled']}/listKeys", ml.ML).json()["primaryKey"]
    answers: dict[str, Any] = {}
    for name, signed_on in (("on-pods", token), ("scaled", key)):
        with azure.http(headers={"Authorization": f"Bearer {signed_on}"}) as client:
            answers[name] = client.post(outputs["scoring_uris"][name], json={})
    assert answers["on-pods"].json()["answer"] == "pod"
    assert answers["scaled"].status_code == 403  # of a private workspace, asked from outside of its network
    group = outputs["resource_group"]
    found = azure.get(
        f"/subscriptions/{outputs['endpoints']['scaled'].split('/')[2]}/resourceGroups/{group}/resources", "2024-03-01"
    )
    assert "Microsoft.Insights/autoscaleSettings" in {each["type"] for each in found.json()["value"]}


def test_an_existing_workspace_is_added_to_and_stays_as_it_was(azure: ServedAzure, make_stack: MakeStack, world: Images) -> None:
    before = azure.get(world.workspace, ml.ML).json()
    said = standing_on(world)
    added = {"computes": {"own": {"size": T4, **END}}, "models": assets(world)["models"]}
    said["ml_workspace"] = {"existing": world.workspace, **added}
    blue = serving("added", instance_type=SIZE, environment=world.own)  # the company's, by its id
    said["ml_endpoints"] = {"added": {"auth": "key", "deployments": {"blue": blue}}}
    stack = make_stack(azure, said)
    come_up(stack)
    assert stack.steps() == []
    assert stack.outputs()["ml_workspace"] == world.workspace
    down = stack.down()
    assert down.returncode == 0, down.stdout + down.stderr
    assert azure.get(world.workspace, ml.ML).json() == before
