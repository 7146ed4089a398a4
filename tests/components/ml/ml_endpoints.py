"""A workspace and endpoints in it, for tests: their settings, and the resources that they register."""

from typing import Any

from azure_gpu.ml.dependencies import WorkspaceOfEndpoint
from azure_gpu.ml.endpoint.args import MlEndpointWiring
from azure_gpu.ml.endpoint.endpoint import MlEndpoint
from azure_gpu.shared.wired import Wired
from tests.components.recording import Recorded, declare
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
                "kind": "Kubernetes",
                "gpus": {"gpu": 1, "small": 0},
                "default_instance_type": "small",
            },
            "training": {
                "id": f"{WORKSPACE_ID}/computes/training",
                "kind": "AmlCompute",
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
TWO: dict[str, Any] = {
    "deployments": {"blue": BLUE, "green": BLUE},
    "traffic": {"blue": 90, "green": 10},
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
