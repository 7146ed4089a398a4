"""Types that are stored and shown, and do nothing: the rows of `localazure/evidence/types.toml` without a class.

Tokens and names in the paths of types that the program doesn't declare are those of pulumi-azure-native 3.29, as in
`azure_gpu.formats.azure_types`.
"""

import functools
from collections.abc import Iterator, Mapping

from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from localazure import evidence
from localazure.arm.kind import Kind

_GROUP = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}"


def without_class(others: tuple[Kind, ...]) -> Iterator[Kind]:
    """A type for each row of the table that none of `others` serves."""
    served = {each.arm_type for each in others}
    yield from (of(arm_type) for arm_type in evidence.types() if arm_type not in served)


def of(arm_type: str) -> Kind:
    return type("Stored", (Kind,), {"azure_type": type_of(arm_type)})()


def type_of(arm_type: str) -> AzureType:
    """A type of the table. KeyError for one that neither the program nor the table declares."""
    return _declared()[arm_type]


@functools.cache
def _declared() -> Mapping[str, AzureType]:
    found = {each.arm_type: each for each in azure_types.ALL}
    for arm_type, row in evidence.types().items():
        if "declared_as" in row:
            token, *names = row["declared_as"]
            namespace, *kinds = arm_type.split("/")
            steps = "".join(f"/{kind}/{{{name}}}" for kind, name in zip(kinds, names, strict=True))
            found[arm_type] = AzureType(token, arm_type, f"{_GROUP}/providers/{namespace}{steps}")
    return found
