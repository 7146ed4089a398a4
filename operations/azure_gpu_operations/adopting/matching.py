"""Matches planned resources with existing ones, and finds the `overrides` that make the program send Azure's values. Pure.

The state takes in a resource with the inputs that the program sends, each with Azure's value. So a preview shows real
differences, without Azure's defaults. Values that the program doesn't send are pinned by overrides: an update sends the whole
resource, and would remove them.

`DEFAULTS` has Azure's defaults of properties, which a stack file needn't set: by type, paths of azure-native's inputs with the
value that Azure sets by default; ANY if it generates or changes the value. In a path, `[]` is any item of a list. Every other
value that Azure has and the program doesn't send is taken as intended, and pinned. A default that is missing here costs one
line in the stack file.

Sources: docstrings of pulumi-azure-native 3.29, which have ARM's descriptions and defaults; answers of Azure to bodies that
leave the property out, as tests/recorded has them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import BY_TOKEN, AzureType

ANY: Final = object()

_NODES: Mapping[str, Any] = {
    "gpuProfile.driver": "Install",
    "kubeletDiskType": "OS",
    "nodeImageVersion": ANY,
    "orchestratorVersion": ANY,
    "osDiskType": "Managed",
    "powerState.code": ANY,
    "scaleDownMode": "Delete",
    "securityProfile.sshAccess": "LocalUser",
    "spotMaxPrice": -1,
    "upgradeSettings.maxSurge": "10%",
    "upgradeSettings.maxUnavailable": "0",
}
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    azure_types.MANAGED_CLUSTER.token: {
        **{f"agentPoolProfiles[].{path}": value for path, value in _NODES.items()},
        "agentPoolProfiles[].count": ANY,  # the autoscaler's
        "agentPoolProfiles[].maxPods": 250,
        "agentPoolProfiles[].osDiskSizeGB": 128,
        "aadProfile.tenantID": ANY,
        "bootstrapProfile.artifactSource": "Direct",
        "identityProfile.kubeletidentity.clientId": ANY,
        "identityProfile.kubeletidentity.objectId": ANY,
        "identityProfile.kubeletidentity.resourceId": ANY,
        "kind": "Base",
        "kubernetesVersion": ANY,
        "linuxProfile.adminUsername": ANY,
        "networkProfile.ipFamilies": ["IPv4"],
        "networkProfile.loadBalancerProfile.backendPoolType": "nodeIPConfiguration",
        "networkProfile.loadBalancerProfile.effectiveOutboundIPs": ANY,
        "networkProfile.loadBalancerProfile.managedOutboundIPs.count": 1,
        "networkProfile.networkDataplane": "azure",
        "networkProfile.networkPolicy": "none",
        "networkProfile.podCidrs": ANY,
        "networkProfile.serviceCidrs": ANY,
        "nodeProvisioningProfile.defaultNodePools": "Auto",
        "nodeProvisioningProfile.mode": "Manual",
        "servicePrincipalProfile.clientId": "msi",
        "storageProfile.diskCSIDriver.enabled": True,
        "storageProfile.fileCSIDriver.enabled": True,
        "storageProfile.snapshotController.enabled": True,
        "supportPlan": "KubernetesOfficial",
        "windowsProfile.adminUsername": ANY,
    },
    azure_types.AGENT_POOL.token: _NODES,
    azure_types.BATCH_POOL.token: {"identity.type": "None", "taskSchedulingPolicy.nodeFillType": "Spread"},
    azure_types.ML_WORKSPACE.token: {
        "discoveryUrl": ANY,
        "managedNetwork.isolationMode": "Disabled",
        "managedNetwork.changeableIsolationModes": ANY,
    },
    # Shares of the requests are those of the template.
    azure_types.ML_ONLINE_ENDPOINT.token: {"kind": "Managed", "properties.traffic": ANY, "properties.mirrorTraffic": ANY},
    azure_types.ML_ONLINE_DEPLOYMENT.token: {"kind": "Managed"},
}


def is_default(token: str, path: str, value: Any) -> bool:
    """Whether Azure has `value` there by itself. `path`: with `[]` for any item."""
    known = DEFAULTS.get(token, {})
    return path in known and known[path] in (ANY, value)


UNKNOWN = (
    "04da6b54-80e4-46f7-96ec-b56ff0331ba9"  # Source: pulumi/pulumi, sdk/go/common/resource/plugin/rpc.go, UnknownStringValue
)
SECRET = "4dabf18193072939515e22adb298388d"  # noqa: S105  Source: the same, resource/properties.go, SigKey
_VERSION = "azureApiVersion"
_NOTHING: tuple[object, ...] = (None, "", [], {}, False, 0)


class Planned(NamedTuple):
    """A resource that an update would create."""

    urn: str
    azure_type: AzureType
    parent: str  # urn
    provider: str  # reference: urn and id
    inputs: Mapping[str, Any]
    ignored: tuple[str, ...]  # paths that the program doesn't look at on one that exists

    @property
    def name(self) -> str:
        """The logical one."""
        return self.urn.rsplit("::", 1)[-1]

    def has_id(self, resource_id: str) -> bool:
        """Whether it would have this id; what isn't known before an update may be anything."""
        names = self.azure_type.path_parameters
        known = {name: str(self.inputs.get(name, UNKNOWN)).lstrip("/") for name in names}
        parts = re.split(r"\{(\w+)\}", self.azure_type.path)
        texts = [re.escape(part) if index % 2 == 0 else _pattern(part, known) for index, part in enumerate(parts)]
        return re.fullmatch("".join(texts), resource_id, re.IGNORECASE) is not None

    def id_within(self, outer: AzureType, outer_id: str) -> str:
        """Its id if it is a child of the resource with this id; "" if not, or if its name isn't known yet."""
        if not self.azure_type.path.startswith(f"{outer.path}/"):
            return ""
        names = {name: str(self.inputs.get(name, UNKNOWN)) for name in self.azure_type.path_parameters}
        found = f"{outer_id}{self.azure_type.path.removeprefix(outer.path)}".format(**names)
        return "" if UNKNOWN in found else found


def _pattern(name: str, known: Mapping[str, str]) -> str:
    value = known.get(name, UNKNOWN)  # the subscription isn't an input
    return "[^/]+" if UNKNOWN in value else re.escape(value)


class Adopted(NamedTuple):
    """A resource as the state takes it in."""

    inputs: dict[str, Any]
    overrides: dict[str, Any]


def planned(steps: Sequence[Mapping[str, Any]]) -> list[Planned]:
    """The creations of a preview that are Azure's."""
    return [
        Planned(
            urn=step["urn"],
            azure_type=BY_TOKEN[step["newState"]["type"]],
            parent=step["newState"].get("parent", ""),
            provider=step["newState"].get("provider", ""),
            inputs=step["newState"].get("inputs", {}),
            ignored=tuple(step["newState"].get("ignoreChanges") or ()),
        )
        for step in steps
        if step["op"] == "create" and step["newState"]["type"] in BY_TOKEN
    ]


def take(one: Planned, there: Mapping[str, Any], apart: frozenset[str], *, pins: bool) -> Adopted:
    """`there`: the inputs that the provider reads from Azure. `apart`: names of pools that are resources of their own. `pins`:
    whether there are overrides, which keep what somebody has set."""
    actual = {**there, **_ordered(there, apart)} if one.azure_type is azure_types.MANAGED_CLUSTER else dict(there)
    of_id = {*one.azure_type.path_parameters, _VERSION}
    kept = {name: value for name, value in one.inputs.items() if name in of_id}
    kept |= {name: actual[name] for name in one.azure_type.path_parameters if name in actual}
    sent = {name: value for name, value in one.inputs.items() if name not in of_id}
    has = {name: value for name, value in actual.items() if name not in of_id}
    inputs, overrides = _Merge(one, pins=pins)(sent, has)
    return Adopted({**kept, **inputs}, overrides)


def _ordered(there: Mapping[str, Any], apart: frozenset[str]) -> dict[str, Any]:
    """The pools that stay in the cluster's own body, those of the system first, as the program sends them."""
    pools: list[Mapping[str, Any]] = [each for each in there.get("agentPoolProfiles", []) if each.get("name") not in apart]
    return {"agentPoolProfiles": sorted(pools, key=lambda each: each.get("mode") != "System")}


class _Merge:
    """Merges the program's inputs with Azure's values, and collects the overrides for them."""

    def __init__(self, one: Planned, *, pins: bool) -> None:
        self._pins = pins
        self._token = one.azure_type.token
        # What an endpoint's template sends is left out of what the engine compares, and has to be as Azure has it too.
        self._ignored = () if one.azure_type is azure_types.ML_ONLINE_ENDPOINT else one.ignored

    def __call__(self, sent: Mapping[str, Any], has: Mapping[str, Any], path: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
        inputs: dict[str, Any] = {}
        overrides: dict[str, Any] = {}
        for name, value in sent.items():
            here, actual = f"{path}{name}", has.get(name)
            if here in self._ignored or _is_secret(value):
                inputs[name] = value if actual is None else actual  # Azure shows no secret, so nothing can be told of it
            elif isinstance(value, Mapping) and isinstance(actual, Mapping):
                inputs[name], below = self(cast(Mapping[str, Any], value), cast(Mapping[str, Any], actual), f"{here}.")
                overrides |= {name: below} if below else {}
            elif actual in (None, []):
                overrides[name] = None
            elif isinstance(value, list) and isinstance(actual, list):
                inputs[name], differs = self._list(cast(list[Any], value), cast(list[Any], actual), here)
                overrides |= {name: inputs[name]} if differs else {}
            else:
                inputs[name] = actual
                overrides |= {name: actual} if value != actual else {}
        for name in has.keys() - sent.keys() if self._pins else ():
            pinned = self._pinned(has[name], f"{path}{name}")
            if pinned is not None:
                inputs[name] = overrides[name] = pinned
        return inputs, dict(sorted(overrides.items()))

    def _list(self, sent: list[Any], has: list[Any], path: str) -> tuple[list[Any], bool]:
        """A list is overridden as a whole, so that a difference of one item makes all of it the file's."""
        if not all(isinstance(each, Mapping) for each in [*sent, *has]):
            return has, sent != has
        items: list[Any] = []
        differs = len(sent) != len(has)
        for index, actual in enumerate(has):
            inputs, overrides = self(sent[index] if index < len(sent) else {}, actual, f"{path}[{index}].")
            items.append(inputs)
            differs = differs or bool(overrides)
        return items, differs

    def _pinned(self, value: Any, path: str) -> Any:
        """The part of a value that isn't Azure's default; None if nothing is left."""
        anywhere = re.sub(r"\[\d+\]", "[]", path)
        if value in _NOTHING or is_default(self._token, anywhere, value):
            return None
        if not isinstance(value, Mapping):
            return value
        below = {name: self._pinned(inner, f"{path}.{name}") for name, inner in cast(Mapping[str, Any], value).items()}
        return {name: inner for name, inner in below.items() if inner is not None} or None


def _is_secret(value: Any) -> bool:
    return isinstance(value, Mapping) and SECRET in value
