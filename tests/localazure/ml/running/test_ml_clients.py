"""`azure-ai-ml`, which nobody here wrote: a workspace with all around it, clusters, models, environments and their versions."""

from pathlib import Path

import pytest

from azure_gpu.catalog import roles
from tests.localazure.conftest import new_group
from tests.support import azure_ai_ml
from tests.support.embedded import ServedAzure
from tests.support.ml_resources import ML, REGION, give_role, new_name, put_workspace, upload

pytestmark = pytest.mark.slow


WORKSPACE = """
from azure.ai.ml.entities import Workspace
name = given["name"]
client.workspaces.begin_create(Workspace(name=name, location=given["location"], tags={"team": "a"})).result()
made = client.workspaces.get(name)
found["made"] = [made.name, made.location, made.tags["team"], made.identity.type, made.managed_network.isolation_mode]
found["depends"] = [bool(each) for each in (made.storage_account, made.key_vault, made.application_insights)]
found["listed"] = [each.name for each in client.workspaces.list()]
made.description = "of the team"
found["changed"] = client.workspaces.begin_update(made).result().description
keys = client.workspaces.get_keys(name)
found["keys"] = sorted(vars(keys))
client.workspaces.begin_delete(name, delete_dependent_resources=True, permanently_delete=True).result()
found["left"] = [each.name for each in client.workspaces.list()]
"""

ASSETS = """
from azure.ai.ml.entities import AmlCompute, Environment, Model
from azure.core.exceptions import HttpResponseError
account = given["account"]

client.compute.begin_create_or_update(
    AmlCompute(name="gpu", size="Standard_NC4as_T4_v3", min_instances=0, max_instances=2, idle_time_before_scale_down=180)
).result()
gpu = client.compute.get("gpu")
found["gpu"] = [gpu.size, gpu.min_instances, gpu.max_instances, gpu.idle_time_before_scale_down, gpu.provisioning_state, gpu.tier]
gpu.max_instances = 3
found["wider"] = client.compute.begin_update(gpu).result().max_instances
found["computes"] = [each.name for each in client.compute.list()]
found["nodes"] = list(client.compute.list_nodes("gpu"))
found["sizes"] = "Standard_NC4as_T4_v3" in [each.name for each in client.compute.list_sizes()]
found["usage"] = [each.limit for each in client.compute.list_usage() if each.name["value"] == "StandardNCASv3_T4Family"]

uri = f"https://{account}.blob.core.windows.net/models/mnist"
model = client.models.create_or_update(Model(name="mnist", version="1", path=uri, type="custom_model", description="digits"))
found["model"] = [model.name, model.version, model.path, model.type]
found["latest"] = client.models.get("mnist", label="latest").version
found["models"] = [each.name for each in client.models.list()]
found["versions"] = [each.version for each in client.models.list(name="mnist")]
client.models.archive("mnist", version="1")
found["archived"] = [each.version for each in client.models.list(name="mnist")]
client.models.restore("mnist", version="1")

local = client.models.create_or_update(Model(name="local", path=given["folder"], type="custom_model"))  # with the account's key
found["uploaded"] = [local.version, "/datastores/workspaceblobstore/paths/LocalUpload/" in local.path]

environment = client.environments.create_or_update(
    Environment(
        name="scoring", version="1", image="mcr.microsoft.com/azureml/minimal-py312-inference:1",
        inference_config={kind: {"path": "/", "port": 5001} for kind in ("liveness_route", "readiness_route", "scoring_route")},
    )
)
route = environment.inference_config.scoring_route
found["environment"] = [environment.name, environment.version, environment.image, route["port"]]
found["environments"] = [each.name for each in client.environments.list()]

found["datastores"] = sorted(each.name for each in client.datastores.list())
found["default"] = client.datastores.get_default().name

def refused(act):
    try:
        act()
    except HttpResponseError as error:
        return error.error.code if error.error else str(error.status_code)

found["refused"] = [
    refused(lambda: client.models.create_or_update(Model(name="mnist", version="1", path=uri + "-not-there"))),
    refused(lambda: client.models.create_or_update(Model(name="other", version="1", path=uri + "-not-there"))),
    refused(lambda: client.compute.begin_create_or_update(AmlCompute(name="old", size="Standard_NC6")).result()),
]
client.compute.begin_delete("gpu").result()
found["gone"] = [each.name for each in client.compute.list()]
"""


def test_a_workspace_is_made_with_all_that_it_depends_on_and_goes_for_good(azure: ServedAzure, group: str) -> None:
    name = new_name("ml")
    workspace = f"{group}/providers/Microsoft.MachineLearningServices/workspaces/{name}"
    found = azure_ai_ml.run(azure, workspace, WORKSPACE, name=name, location=REGION)
    assert found["made"] == [name, REGION, "a", "system_assigned", "Disabled"]
    assert found["depends"] == [True, True, True]
    assert found["listed"] == [name]
    assert found["changed"] == "of the team"
    assert {"user_storage_key", "app_insights_instrumentation_key"} <= set(found["keys"])
    assert found["left"] == []
    assert azure.get(workspace, ML).status_code == 404


def test_clusters_models_and_environments(azure: ServedAzure, tmp_path: Path) -> None:
    group = new_group(azure)
    give_role(azure, group, roles.STORAGE_BLOB_DATA_CONTRIBUTOR, azure.principal_id)
    workspace = put_workspace(azure, group, systemDatastoresAuthMode="AccessKey")
    account = azure.get(workspace, ML).json()["properties"]["storageAccount"].rsplit("/", 1)[1]
    upload(azure, account, "models", "mnist/saved_model.pb")
    (tmp_path / "weights.txt").write_text("seven")
    found = azure_ai_ml.run(azure, workspace, ASSETS, account=account, folder=str(tmp_path))
    assert found["gpu"] == ["Standard_NC4as_T4_v3", 0, 2, 180, "Succeeded", "dedicated"]
    assert found["wider"] == 3
    assert found["computes"] == ["gpu"]
    assert found["nodes"] == []
    assert found["sizes"] is True
    assert found["model"] == ["mnist", "1", f"https://{account}.blob.core.windows.net/models/mnist", "custom_model"]
    assert found["latest"] == "1"
    assert (found["models"], found["versions"], found["archived"]) == (["mnist"], ["1"], [])
    assert found["uploaded"] == ["1", True]
    assert found["environment"] == ["scoring", "1", "mcr.microsoft.com/azureml/minimal-py312-inference:1", 5001]
    assert found["environments"] == ["scoring"]
    assert "workspaceblobstore" in found["datastores"]
    assert found["default"] == "workspaceblobstore"
    assert found["refused"] == ["UserError", "UserError", "BadRequest"]
    assert found["gone"] == []
