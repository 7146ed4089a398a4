"""Changes a pool by ARM's PATCH where Batch refuses the provider's PUT.

azure-native updates a pool by a PUT of its whole body (pulumi/pulumi-azure-native, provider/pkg/gen/schema.go: PATCH is only for
types without PUT). Batch is known to refuse such a request for naming what can't change, although nothing of that differs:
Azure/Batch issues 85, 144 and 153, Azure/terraform-provider-azapi issue 263, where only a formula changed; others update pools by
PATCH, and without `networkConfiguration` (hashicorp/terraform-provider-azurerm pull request 8189). Whether it still does is not
known, so the PUT comes first.

After the PATCH the pool is as declared, and the state isn't: a refresh takes the change in.
"""

import json
from collections.abc import Mapping
from typing import Any

import pulumi

from azure_gpu.catalog.transient_errors import CANNOT_BE_UPDATED
from azure_gpu.shared import arm_reads

# Of Microsoft.Batch 2024-07-01, "Pool - Update": what its examples and the page of immutable.py change on a pool with nodes.
PROPERTIES = ("applicationPackages", "metadata", "scaleSettings", "startTask", "targetNodeCommunicationMode")
_EMPTY: Mapping[str, Any] = {"applicationPackages": [], "metadata": [], "tags": {}}


class NotPatchableError(Exception):
    """A property that isn't changed by PATCH. The text names it."""


def body(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The body of the PATCH that changes a pool from these inputs to those."""
    changed = sorted(key for key in old.keys() | new.keys() if not key.startswith("__") and old.get(key) != new.get(key))
    values = {key: new.get(key) or _EMPTY.get(key) for key in changed}
    if wrong := [key for key, value in values.items() if key not in (*PROPERTIES, "tags") or value is None]:
        raise NotPatchableError(", ".join(wrong))
    tags = {"tags": values.pop("tags")} if "tags" in values else {}
    return {**tags, **({"properties": values} if values else {})}


async def instead(args: pulumi.ErrorHookArgs, component: pulumi.Resource, provider: pulumi.ProviderResource | None) -> None:
    """For an error hook of a pool: sends the PATCH where an update was refused, and tells what to do next."""
    if args.failed_operation != "update" or CANNOT_BE_UPDATED not in args.errors[0]:
        return
    old, new = await _plain(args.old_inputs or {}), await _plain(args.new_inputs or {})
    try:
        patch = body(old, new)
        opts = pulumi.InvokeOptions(parent=component, provider=provider)
        await arm_reads.patch(args.id, str(new["azureApiVersion"]), patch, opts)
    except NotPatchableError as error:
        pulumi.log.warn(
            f"{args.name}: Batch can't change {error} of a pool; rename the part, which makes another pool", component
        )
    except arm_reads.UnreadableError as error:
        pulumi.log.warn(f"{args.name}: a request of only what changes was refused, too: {error}", component)
    else:
        names = ", ".join(sorted([*patch.get("properties", {}), *(["tags"] if "tags" in patch else [])]))
        pulumi.log.warn(
            f"{args.name}: changed in Azure ({names}), by a request of only that; `pulumi up --refresh` takes it into the state",
            component,
        )


async def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value as JSON has it: without the marks of secrets, and with integers, which the engine doesn't have."""
    known = await pulumi.Output.from_input(value).future()
    return json.loads(json.dumps(known), parse_float=lambda text: int(float(text)) if float(text).is_integer() else float(text))
