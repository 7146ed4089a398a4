"""The Azure resource types that this project declares: Pulumi's token, ARM's type and the path of its id, side by side.

One table, `azure_types.csv`, for everybody who has to get from one to the other: the embedded Azure, its provider plugin, and
operations that look for a resource which the engine lost sight of. A row is the name here, the token without `azure-native:`, and
the path, without what it begins with where that is a resource group. Both are those of pulumi-azure-native 3.29.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

_GROUP = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}"


@dataclass(frozen=True, slots=True)
class AzureType:
    """One resource type. `{names}` in `path` are the provider's input names; `subscriptionId` comes from its configuration."""

    token: str  # "azure-native:containerinstance:ContainerGroup"
    arm_type: str  # "Microsoft.ContainerInstance/containerGroups"
    path: str

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """The inputs that make up the id, in order, without the subscription."""
        names = [segment[1:-1] for segment in self.path.split("/") if segment.startswith("{")]
        return tuple(name for name in names if name != "subscriptionId")

    @property
    def name_parameter(self) -> str:
        return self.path_parameters[-1]

    def id_of(self, subscription: str, inputs: Mapping[str, object]) -> str:
        """The ARM id that `inputs` (by wire name) lead to. KeyError where one of the path's names is missing."""
        values = {name: str(inputs[name]).lstrip("/") for name in self.path_parameters}
        return self.path.format(subscriptionId=subscription, **values)


def _read(token: str, path: str) -> AzureType:
    """The type is the namespace behind the last `providers`, and every second step from there on."""
    namespace, *steps = path.rpartition("/providers/")[2].split("/")
    arm_type = "/".join([namespace, *steps[::2]]) if namespace else "Microsoft.Resources/resourceGroups"
    return AzureType(f"azure-native:{token}", arm_type, path if path.startswith("/") else f"{_GROUP}/providers/{path}")


with Path(__file__).with_suffix(".csv").open(encoding="utf-8") as _file:
    _NAMED = {row["name"]: _read(row["token"], row["path"]) for row in csv.DictReader(_file)}
ALL = tuple(_NAMED.values())
BY_TOKEN = {azure_type.token: azure_type for azure_type in ALL}
globals().update(_NAMED)  # `azure_types.CONTAINER_GROUP`

if TYPE_CHECKING:

    def __getattr__(name: str) -> AzureType: ...
