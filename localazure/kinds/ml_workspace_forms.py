"""A workspace's body as the service reads it: clients send texts where it is true or false, and what says nothing.

Bodies are read in the form of API version 2025-12-01. The template of azure-ai-ml 1.35.2 is why; what is answered and isn't in
that form may come back.
"""

from localazure.arm.store import Body

_TRUTHS = (
    "allowRecoverSoftDeletedWorkspace",
    "allowRoleAssignmentOnRG",
    "enableDataIsolation",
    "hbiWorkspace",
    "provisionNetworkNow",
    "softDeleteEnabled",
    "v1LegacyMode",
)
_AUTH_MODES = {"accesskey": "AccessKey", "identity": "Identity", "userdelegationsas": "UserDelegationSAS"}
_WORDS = {"true": True, "false": False}
# Of feature stores and hubs: empty where it is none.
_OF_OTHER_KINDS = ("existingWorkspaces", "featureStoreSettings", "workspaceHubConfig")
# Answered, as Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01) shows, and nothing that a client sets.
_ANSWERED = ("EnableSoftwareBillOfMaterials", "creationTime", "ipAllowlist", "sasGetterUri", "sdkTelemetryAppInsightsKey")


def read(body: Body) -> Body:
    given = body.get("properties")
    if not isinstance(given, dict):
        return body
    properties: Body = {name: value for name, value in given.items() if name not in _ANSWERED}
    for name in _TRUTHS:
        value = properties.get(name)
        if isinstance(value, str):
            properties[name] = _WORDS.get(value.lower(), value)
    for name in _OF_OTHER_KINDS:
        if name in properties and _says_nothing(properties[name]):
            del properties[name]
    encryption = properties.get("encryption")
    if isinstance(encryption, dict) and str(encryption.get("status")).lower() == "disabled":
        del properties["encryption"]
    mode = properties.get("systemDatastoresAuthMode")
    if isinstance(mode, str):
        properties["systemDatastoresAuthMode"] = _AUTH_MODES.get(mode.lower(), mode)
    empty = [name for name, value in properties.items() if value == "" and name not in ("description", "friendlyName")]
    kept = {name: value for name, value in properties.items() if name not in empty}
    network = kept.get("managedNetwork")
    if isinstance(network, dict):
        network = {name: value for name, value in network.items() if name != "changeableIsolationModes"}
        kept["managedNetwork"] = network
        if _says_nothing(network):
            del kept["managedNetwork"]
    return {**body, "properties": kept}


def _says_nothing(value: object) -> bool:
    """Whether nothing but empty values lies in it, however deep."""
    if isinstance(value, dict):
        return all(_says_nothing(each) for each in value.values())
    if isinstance(value, list):
        return all(_says_nothing(each) for each in value)
    return value is None or value == ""
