"""A workspace and endpoints in it, for tests: their settings, and the resources that they register."""

from typing import Any

from azure_gpu.ml.dependencies import ComputeKind, WorkspaceOfEndpoint
from azure_gpu.ml.endpoint.args import MlEndpointWiring
from azure_gpu.ml.endpoint.endpoint import MlEndpoint
from azure_gpu.shared.wired import Wired
from tests.components.recording import Recorded, Registration, declare
from tests.components.settings_of import STACK_ARGS, args_of

WORKSPACE_ID = "/subscriptions/s/resourceGroups/group/providers/Microsoft.MachineLearningServices/workspaces/ws"
MODEL = {"id": f"{WORKSPACE_ID}/models/digits/versions/1", "version": "1", "type": "custom"}
SERVES: dict[str, Any] = {"version": "1", "gpu": False, "serves": True, "port": 5001}
SCORING = {**SERVES, "id": f"{WORKSPACE_ID}/environments/scoring/versions/1", "needs_model": True}
WITH_MODEL = {**SERVES, "id": f"{WORKSPACE_ID}/environments/with-model/versions/1", "needs_model": False}
NOT_SERVING: dict[str, Any] = {"version": "1", "gpu": True, "serves": False, "port": 0, "needs_model": False}
ON_GPU = {**NOT_SERVING, "id": f"{WORKSPACE_ID}/environments/cuda/versions/1"}
CODE = {"id": f"{WORKSPACE_ID}/codes/answers/versions/1", "version": "1"}
T4, CPU = "Standard_NC4as_T4_v3", "Standard_F4s_v2"
BLUE: dict[str, Any] = {"model": "digits", "environment": "scoring", "instance_type": T4}
END = "2026-12-31"


def workspace(**changed: Any) -> WorkspaceOfEndpoint:
    given: dict[str, Any] = {
        "name": "ws",
        "id": WORKSPACE_ID,
        "resource_group_name": "group",
        "location": "eastus",
        "existing": False,
        "public": True,
        "reached_privately": False,
        "managed_network": False,
        "computes": {
            "onprem": {
                "id": f"{WORKSPACE_ID}/computes/onprem",
                "kind": ComputeKind.KUBERNETES,
                "gpus": {"gpu": 1, "small": 0},
                "default_instance_type": "small",
            },
            "training": {
                "id": f"{WORKSPACE_ID}/computes/training",
                "kind": ComputeKind.CLUSTER,
                "gpus": {},
                "default_instance_type": "",
            },
        },
        "models": {"digits": MODEL, "digits:1": MODEL, "flow": {**MODEL, "type": "mlflow"}},
        "environments": {"scoring": SCORING, "with-model": WITH_MODEL, "cuda": ON_GPU},
        "code": {"answers": CODE},
    }
    return args_of(WorkspaceOfEndpoint, given, changed)


def dependencies(**changed: Any) -> dict[str, Any]:
    """The outputs of foundation and workspace that an endpoint depends on."""
    return {
        "stack": {**STACK_ARGS, "location": "eastus", "as_of": "2026-11-21"},
        "resource_group_name": "group",
        "identity_id": "/identity/of/the/stack",
        "identity_name": "group/identity",
        "ml_workspace": workspace(),
        **changed,
    }


ENDPOINT = "azure-native:machinelearningservices:OnlineEndpoint"
DEPLOYMENT = "azure-native:machinelearningservices:OnlineDeployment"
TEMPLATE = "azure-native:resources:Deployment"
AUTOSCALE = "azure-native:monitor:AutoscaleSetting"
ROLE = "azure-native:authorization:RoleAssignment"
LOGS = "azure-native:monitor:DiagnosticSetting"
TWO: dict[str, Any] = {
    "deployments": {"blue": BLUE, "green": BLUE},
    "traffic": {"blue": 90, "green": 10},
    "expires_after": END,
}
EVERYTHING: dict[str, Any] = {
    "endpoint_name": "digits-everywhere",
    "auth": "key",
    "network": "public",
    "description": "[digits]",
    "deployments": {
        "blue": {
            **BLUE,
            "autoscale": {"min": 1, "max": 3, "cpu_percent": 80, "gpu_percent": 60, "requests_per_minute": 600},
            "probes": {
                "liveness": {"initial_delay_seconds": 60, "period_seconds": 5, "failure_threshold": 3},
                "readiness": {"success_threshold": 2, "timeout_seconds": 4},
                "startup": {"failure_threshold": 100},
            },
            "requests": {"timeout_seconds": 90, "concurrent": 4, "queue_seconds": 1.5},
            "environment_variables": {"WORKER_COUNT": "4"},
            "model_mount_path": "/models",
            "egress": "private",
            "app_insights": True,
            "description": "the first",
            "tags": {"colour": "blue"},
        },
        "green": {
            "model": "azureml://registries/azureml/models/digits/versions/2",
            "environment": "cuda",
            "code": {"code": "answers", "script": "score.py"},
            "instance_type": T4,
            "instances": 2,
        },
    },
    "traffic": {"blue": 100},
    "mirror": {"green": 10},
    "tags": {"cost": "42"},
    "expires_after": END,
}
ON_KUBERNETES: dict[str, Any] = {
    "compute": "onprem",
    "auth": "aml_token",
    "identity": "system",
    "deployments": {
        "blue": {"model": "digits:1", "environment": "scoring", "instance_type": "gpu", "autoscale": {"max": 4}},
        "green": {"model": "digits", "environment": "scoring", "instances": 2},
    },
    "traffic": {"blue": 50, "green": 50},
    "expires_after": END,
}


def declared(*, preview: bool = False, surroundings: dict[str, Any] | None = None, **settings: Any) -> Recorded:
    args = args_of(MlEndpointWiring, surroundings or dependencies(), settings)
    return declare(lambda: MlEndpoint("digits", Wired(args)), preview=preview)


def template_of(recorded: Recorded) -> dict[str, Any]:
    return recorded.one(TEMPLATE).inputs["properties"]["template"]


def resource_of(recorded: Recorded) -> dict[str, Any]:
    [resource] = template_of(recorded)["resources"]
    return resource


def named(recorded: Recorded, name: str) -> Registration:
    [found] = [each for each in recorded.registrations if each.name == name]
    return found


def outputs_of(recorded: Recorded) -> dict[str, Any]:
    """The component's own outputs."""
    [outputs] = [each for urn, each in recorded.outputs.items() if urn.endswith("azuregpu:index:MlEndpoint::digits")]
    return outputs
