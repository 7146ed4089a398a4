"""Reads the resources of the given ids with their children, and the problems of ids that can't be adopted."""

from collections.abc import Sequence

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu_operations.adopting.keys import ADOPTED, ExistingResource, read_id
from azure_gpu_operations.azure import Arm

# The API version in which each type is read; all of them have the properties that the keys need.
_VERSIONS = {
    azure_types.RESOURCE_GROUP: "2024-03-01",
    azure_types.USER_ASSIGNED_IDENTITY: "2023-01-31",
    azure_types.STORAGE_ACCOUNT: "2024-01-01",
    azure_types.REGISTRY: "2023-07-01",
    azure_types.LOG_WORKSPACE: "2023-09-01",
    azure_types.MANAGED_CLUSTER: "2025-09-01",
    azure_types.AGENT_POOL: "2025-09-01",
    azure_types.BATCH_ACCOUNT: "2024-07-01",
    azure_types.BATCH_POOL: "2024-07-01",
    azure_types.ML_WORKSPACE: "2025-12-01",
    azure_types.ML_COMPUTE: "2025-12-01",
    azure_types.ML_ONLINE_ENDPOINT: "2025-12-01",
    azure_types.ML_ONLINE_DEPLOYMENT: "2025-12-01",
}
_WITHIN = {
    azure_types.MANAGED_CLUSTER: (azure_types.AGENT_POOL,),
    azure_types.BATCH_ACCOUNT: (azure_types.BATCH_POOL,),
    azure_types.ML_WORKSPACE: (azure_types.ML_COMPUTE,),
    azure_types.ML_ONLINE_ENDPOINT: (azure_types.ML_ONLINE_DEPLOYMENT,),
}
_WITH_PARENT = {
    azure_types.AGENT_POOL: "cluster",
    azure_types.ML_COMPUTE: "workspace",
    azure_types.ML_ONLINE_DEPLOYMENT: "endpoint",
}


def read(arm: Arm, ids: Sequence[str]) -> tuple[list[ExistingResource], list[Problem]]:
    """The existing resources, workspaces before their endpoints, and the problems. AzureError if ARM rejects a request."""
    found: list[ExistingResource] = []
    problems: list[Problem] = []
    for text in dict.fromkeys(ids):
        azure_type, problem = _type_of(text, arm.subscription_id)
        if azure_type is None:
            problems += [problem] if problem else []
            continue
        there = _read(arm, text, azure_type)
        if there is None:
            problems.append(Problem(text, "no resource in Azure has this id", fix="`az resource list` shows ids"))
        elif one_to_be_one := _unfinished(there):
            problems.append(one_to_be_one)
        else:
            found.append(there)
    groups = {each.id.resource_group.lower(): each.id.resource_group for each in found if each.azure_type in _WITHIN}
    if len(groups) > 1:
        allowed = "ids in one resource group"
        fix = "adopt each group into a separate stack"
        problems.append(
            Problem("ID", f"these lie in {len(groups)} resource groups: {', '.join(groups.values())}", allowed=allowed, fix=fix)
        )
    return sorted(found, key=lambda each: ADOPTED.index(each.azure_type)), problems


def _type_of(text: str, subscription_id: str) -> tuple[AzureType | None, Problem | None]:
    given = read_id(text)
    example = azure_types.MANAGED_CLUSTER.path.replace("{", "<").replace("}", ">")
    if given is None:
        return None, Problem(
            text, "not an Azure resource id", allowed=example, fix="copy the whole id; `az resource list` shows ids"
        )
    azure_type = next((each for each in ADOPTED if given.is_type(each.arm_type)), None)
    if azure_type is None:
        inside = next((noun for each, noun in _WITH_PARENT.items() if given.is_type(each.arm_type)), "")
        fix = f"give the id of its {inside}, which includes it" if inside else "omit it"
        return None, Problem(
            text, f"{given.type} can't be adopted", allowed=", ".join(each.arm_type for each in ADOPTED), fix=fix
        )
    if given.subscription.lower() != subscription_id.lower():
        fix = "adopt it into a stack of that subscription; `existing: <id>` uses it from here"
        return None, Problem(text, "not in the stack's subscription", given.subscription, subscription_id, fix)
    return azure_type, None


def _unfinished(there: ExistingResource) -> Problem | None:
    state = str(there.properties.get("provisioningState", "Succeeded"))
    if state.lower() == "succeeded":
        return None
    return Problem(
        there.id.text,
        "not provisioned",
        state,
        "Succeeded",
        "wait or repair it, then run the command again",
    )


def _read(arm: Arm, text: str, azure_type: AzureType) -> ExistingResource | None:
    given = read_id(text)
    assert given is not None
    body = arm.get(given.text, _VERSIONS[azure_type])
    if body is None:
        return None
    within = [
        ExistingResource(inner, kind, each)
        for kind in _WITHIN.get(azure_type, ())
        for each in arm.values(f"{given.text}/{kind.arm_type.rsplit('/', 1)[-1]}", _VERSIONS[kind])
        if (inner := read_id(each["id"])) is not None
    ]
    return ExistingResource(given, azure_type, body, tuple(within))
