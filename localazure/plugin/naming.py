"""The physical name of a resource whose program gave none.

The rules are the real provider's: the last name in the path of the resource's id decides. Source: pulumi/pulumi-azure-native,
provider/pkg/resources (AutoNamer) and provider/pkg/provider (default names, `autonaming_test.go`).
"""

import hashlib
import secrets
import uuid
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pulumi.runtime.proto import provider_pb2

from azure_gpu.formats.azure_types import AzureType

CREATE_BEFORE_DELETE = (
    "__createBeforeDelete"  # hidden input: the name is ours, so a replacement may exist beside what it replaces
)
_SUFFIX_LENGTH = 8
_URI_NAMES = frozenset({"endpointName", "customDomainName"})
_UUID_NAMES = frozenset({"roleAssignmentName", "roleDefinitionId"})


class Strategy(StrEnum):
    RANDOM = "random"  # the logical name and 8 hexadecimal digits
    COPY = "copy"  # the logical name
    UUID = "uuid"


Autonaming = provider_pb2.CheckRequest.AutonamingOptions  # `pulumi:autonaming` as the engine hands it on


def strategy_of(azure_type: AzureType) -> Strategy:
    name = azure_type.name_parameter
    if name in _URI_NAMES:
        return Strategy.RANDOM
    if name in _UUID_NAMES:
        return Strategy.UUID
    _, *providers = azure_type.path.lower().split("microsoft.")
    return Strategy.RANDOM if not providers or providers[-1].count("{") == 1 else Strategy.COPY


def with_name(
    azure_type: AzureType,
    logical_name: str,
    inputs: Mapping[str, Any],
    old_inputs: Mapping[str, Any],
    seed: bytes,
    autonaming: Autonaming | None,
) -> dict[str, Any]:
    """`inputs` with a physical name.

    Unchanged where they have one, and where naming is disabled: that is then a missing input.
    """
    parameter = azure_type.name_parameter
    if inputs.get(parameter) is not None:
        return dict(inputs)
    if old_inputs.get(parameter) is not None:
        kept = {key: old_inputs[key] for key in (parameter, CREATE_BEFORE_DELETE) if key in old_inputs}
        return {**inputs, **kept}
    if autonaming and autonaming.mode == Autonaming.DISABLE:
        return dict(inputs)
    strategy = strategy_of(azure_type)
    if autonaming and (autonaming.mode == Autonaming.ENFORCE or strategy is not Strategy.UUID):
        return {**inputs, parameter: autonaming.proposed_name, CREATE_BEFORE_DELETE: True}
    if strategy is Strategy.COPY:
        return {**inputs, parameter: logical_name}
    # The same seed gives the same name, so that an update plan and its execution agree.
    digits = hashlib.sha256(seed).hexdigest() if seed else secrets.token_hex(32)
    name = str(uuid.UUID(digits[:32])) if strategy is Strategy.UUID else logical_name + digits[:_SUFFIX_LENGTH]
    return {**inputs, parameter: name, CREATE_BEFORE_DELETE: True}
