"""What Azure Machine Learning can't change on existing resources: replacing properties, names of computes, content of versions.

The `REPLACING_*` paths tell the engine to create a new resource. A compute's name holds a hash of these properties if its
replacement is created beside it. A hook rejects a changed content of the same version.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

import pulumi

from azure_gpu.catalog import names
from azure_gpu.formats import azure_types
from azure_gpu.ml.workspace.args import Replace
from azure_gpu.shared.hooks import called

# Documented in the API for keyVault and storageAccount; hashicorp/terraform-provider-azurerm,
# machine_learning_workspace_resource.go, makes a new workspace for these.
REPLACING_WORKSPACE = ["hbiWorkspace", "keyVault", "location", "storageAccount"]
# The API's own update (ClusterUpdateParameters) only changes the scale. Machines created under the name of deleted ones may
# get the old size: Azure/azure-rest-api-specs issue 18889. So a replacement has another name.
REPLACING_COMPUTE = [
    "location",
    "properties.computeType",
    "properties.disableLocalAuth",
    "properties.properties.enableNodePublicIp",
    "properties.properties.osType",
    "properties.properties.remoteLoginPortPublicAccess",
    "properties.properties.subnet",
    "properties.properties.vmPriority",
    "properties.properties.vmSize",
]
# Of attached computes: another cluster, namespace, machine or address is another compute.
REPLACING_ATTACHED = [
    "location",
    "properties.computeType",
    "properties.properties.address",
    "properties.properties.namespace",
    "properties.resourceId",
]

LONGEST_NAME = names.RULES[azure_types.ML_COMPUTE.arm_type].longest
HASH_LENGTH = 4  # of a compute's name: two forms collide with a chance of 1 in 65,536; Azure then rejects the second
LONGEST_SIDE_BY_SIDE = LONGEST_NAME - HASH_LENGTH - len("-x")

# The content of a version, by the type of its resource; descriptions and tags may change.
CONTENT = {
    azure_types.ML_MODEL_VERSION.token: ("modelUri", "modelType"),
    azure_types.ML_ENVIRONMENT_VERSION.token: ("image", "condaFile", "inferenceConfig", "osType"),
    azure_types.ML_CODE_VERSION.token: ("codeUri",),
}


def default_replace(name: str) -> Replace:
    """side-by-side if the name leaves room for the hash."""
    return "side-by-side" if len(name) <= LONGEST_SIDE_BY_SIDE else "drain-first"


def compute_name(name: str, replace: Replace, kept: Mapping[str, object], subnet_id: str) -> str:
    """The compute's name in the workspace. The letter is required because a name must not end in a hyphen and digits."""
    return f"{name}-x{digest(kept, subnet_id)[:HASH_LENGTH]}" if replace == "side-by-side" else name


def digest(kept: Mapping[str, object], subnet_id: str) -> str:
    """A hash of these properties only. Properties with the service's own defaults are left out."""
    properties = {key: value for key, value in {**kept, "subnet": subnet_id.lower()}.items() if value}
    return hashlib.sha256(json.dumps(properties, sort_keys=True).encode()).hexdigest()


def reject_changed_content(name: str, path: str) -> pulumi.ResourceOptions:
    """Options of a version that reject changed content, also in a preview. `name` is unique in the program, `path` is the
    version's path."""

    def refuse(args: pulumi.ResourceHookArgs) -> None:
        changed = changed_content(args.type, args.old_inputs or {}, args.new_inputs or {})
        if changed:
            version = (args.old_inputs or {}).get("version")
            raise pulumi.RunError(
                f"{path}: version {version} exists with another {' and '.join(changed)}, and a version never changes;"
                " set another version, or restore the content"
            )

    if not called():
        return pulumi.ResourceOptions()
    hook = pulumi.ResourceHook(f"{name}-stays", refuse, pulumi.ResourceHookOptions(on_dry_run=True))
    return pulumi.ResourceOptions(hooks=pulumi.ResourceHookBinding(before_update=[hook]))


def changed_content(token: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The changed parts of a version's content, without those that are unknown before an update."""
    before, after = (cast(Mapping[str, Any], each.get("properties") or {}) for each in (old, new))
    return [key for key in CONTENT.get(token, ()) if _plain(before.get(key)) != _plain(after.get(key)) and _known(after.get(key))]


def _known(value: Any) -> bool:
    if isinstance(value, pulumi.Output):
        return False
    if isinstance(value, Mapping):
        return all(_known(inner) for inner in cast(Mapping[str, Any], value).values())
    return not isinstance(value, str) or value != pulumi.runtime.rpc.UNKNOWN


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
