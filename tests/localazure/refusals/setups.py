"""What is there before a request is refused. Each of these makes something in a group of its own and names it for the rows."""

from collections.abc import Callable

from azure_gpu.catalog import roles
from tests.localazure.apps.sdk import new_apps
from tests.localazure.batch.data_plane import AUDIENCE
from tests.localazure.containers.sdk import Registry
from tests.support import batch_bodies, ml_resources
from tests.support.embedded import EmbeddedAzure
from tests.support.machines import Network
from tests.support.managed_clusters import CLUSTERS, cluster

Words = dict[str, str]


def a_cluster(azure: EmbeddedAzure, words: Words) -> None:
    words["clusters"] = f"{words['group']}/providers/Microsoft.ContainerService/managedClusters"
    words["cluster"] = azure.made(f"{words['clusters']}/gpu", cluster(), CLUSTERS)["id"]


def a_registry(azure: EmbeddedAzure, words: Words) -> None:
    """With the image `hello:1` in it and an identity, `puller`, that may pull it."""
    made = Registry(azure, words["group"], words["name"])
    assert made.build("hello", "hello:1")["status"] == "Succeeded"
    made.allow_pull()
    words |= {"registry": made.server, "registry_id": made.id, "puller": made.identity}


def an_environment(azure: EmbeddedAzure, words: Words) -> None:
    """Of Container Apps, with a registry."""
    a_registry(azure, words)
    made = new_apps(azure, Registry(azure, words["group"], words["name"]))
    words |= {"environment": made.environment, "jobs": f"{made.group}/providers/Microsoft.App/jobs"}


def a_batch_account(azure: EmbeddedAzure, words: Words) -> None:
    made = batch_bodies.put_account(azure, words["group"])
    words |= {"account": made["id"], "data": f"/batch/{made['name']}", "token": azure.token(f"{AUDIENCE}/.default")}


def storage_accounts(azure: EmbeddedAzure, words: Words) -> None:
    """One that is reached by key and one that isn't."""
    words["storage"] = batch_bodies.put_storage(azure, words["group"])["id"]
    words["keyless"] = batch_bodies.put_storage(azure, words["group"], allowSharedKeyAccess=False)["id"]


def a_workspace(azure: EmbeddedAzure, words: Words) -> None:
    """Of Machine Learning, with what it depends on."""
    made = azure.get(ml_resources.put_workspace(azure, words["group"]), ml_resources.ML).json()
    words["workspace"] = made["id"]
    for name in ("storageAccount", "keyVault", "applicationInsights"):
        words[name] = made["properties"][name]


def what_scores(azure: EmbeddedAzure, words: Words) -> None:
    """A model, an environment and code in the workspace, an identity, and an endpoint without deployments."""
    words["identity"] = ml_resources.put_identity(azure, words["group"])["id"]
    place = "https://someone.blob.core.windows.net/models"  # which is believed
    for path, properties in {
        "models/tiny": {"modelUri": f"{place}/tiny"},
        "codes/score": {"codeUri": f"{place}/source"},
        "environments/tiny": {"image": "mcr.microsoft.com/azureml/minimal-py312-inference", "condaFile": "name: tiny\n"},
    }.items():
        azure.made(f"{words['workspace']}/{path}/versions/1", {"properties": properties}, ml_resources.ML)
    own = {"type": "UserAssigned", "userAssignedIdentities": {words["identity"]: {}}}
    body = {"location": ml_resources.REGION, "identity": own, "properties": {"authMode": "Key"}}
    words["endpoint"] = azure.made(f"{words['workspace']}/onlineEndpoints/{words['name']}", body, ml_resources.ML)["id"]


def a_workspace_of_logs(azure: EmbeddedAzure, words: Words) -> None:
    path = f"{words['group']}/providers/Microsoft.OperationalInsights/workspaces/logs"
    words["logs"] = azure.made(path, {"location": "westeurope"}, "2023-09-01")["id"]


def an_interface(azure: EmbeddedAzure, words: Words) -> None:
    """In a network, for a machine."""
    made = Network(azure, words["group"])
    words |= {"network": made.id, "interface": made.interface()}


def a_gallery(azure: EmbeddedAzure, words: Words) -> None:
    """With a definition of images, `gpu`."""
    made = azure.made(f"{words['group']}/providers/Microsoft.Compute/galleries/lab", {"location": "westeurope"}, "2024-03-03")
    words["gallery"] = made["id"]
    identifier = {"publisher": "lab", "offer": "gpu", "sku": "a"}
    image = {"osType": "Linux", "osState": "Generalized", "hyperVGeneration": "V2", "identifier": identifier}
    azure.made(f"{made['id']}/images/gpu", {"location": "westeurope", "properties": image}, "2024-03-03")


def a_furnished_network(azure: EmbeddedAzure, words: Words) -> None:
    """With an interface that has rules and an address, an environment with a profile of its own, and a role."""
    where, provider = {"location": "westeurope"}, f"{words['group']}/providers"
    network = f"{provider}/Microsoft.Network"
    subnet, rules, address = (
        f"{network}/{each}"
        for each in ("virtualNetworks/net/subnets/nodes", "networkSecurityGroups/rules", "publicIPAddresses/door")
    )
    made = {
        f"{network}/virtualNetworks/net": {**where, "properties": {"addressSpace": {"addressPrefixes": ["10.8.0.0/16"]}}},
        subnet: {"properties": {"addressPrefix": "10.8.1.0/24"}},
        rules: {**where, "properties": {}},
        address: {**where, "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static"}},
    }
    parts = {"subnet": {"id": subnet}, "publicIPAddress": {"id": address}}
    of_interface = {"ipConfigurations": [{"name": "main", "properties": parts}], "networkSecurityGroup": {"id": rules}}
    made[f"{network}/networkInterfaces/nic"] = {**where, "properties": of_interface}
    for path, body in made.items():
        azure.made(path, body, "2024-03-01")
    profile = {"name": "four", "workloadProfileType": "D4", "minimumCount": 1, "maximumCount": 2}
    environment = {**where, "properties": {"workloadProfiles": [profile]}}
    azure.made(f"{provider}/Microsoft.App/managedEnvironments/env", environment, "2025-01-01")
    ml_resources.give_role(azure, words["group"], roles.READER, azure.principal_id)


SETUPS: dict[str, Callable[[EmbeddedAzure, Words], None]] = {
    "a Batch account": a_batch_account,
    "a cluster": a_cluster,
    "a furnished network": a_furnished_network,
    "a gallery": a_gallery,
    "a registry": a_registry,
    "a workspace": a_workspace,
    "a workspace of logs": a_workspace_of_logs,
    "an environment": an_environment,
    "an interface": an_interface,
    "storage accounts": storage_accounts,
    "what scores": what_scores,
}
