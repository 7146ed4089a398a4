"""Overrides: azure-native properties that reach the resource, whatever else its component sets, and how they are refused."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, get_args, is_typeddict

import pulumi
import pulumi_azure_native.batch as batch
import pytest
import yaml

from azure_gpu import BatchPool, BatchPoolArgs, Foundation
from azure_gpu.formats import azure_types
from azure_gpu.shared.overrides import OverridesOf, in_body, left_alone
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.validation import below, form, is_map, key_hints
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.settings import read
from tests.components import recorded_bodies
from tests.components.recording import KEYS, PROJECT, STACK, SUBSCRIPTION, Recorded, declare
from tests.components.settings_of import TODAY, args_of, configuration, pure_problems
from tests.components.test_cases import CASES
from tests.components.test_constructors import GOOD, LOOK_UPS
from tests.support.tables import of_table

TAGS = {"tags": {"set-by": "overrides"}}
TAGS_BELOW = {"properties": {"tags": {"set-by": "overrides"}}}  # of what Azure ML keeps them for
OF_TYPE: dict[str, dict[str, Any]] = {
    each.token: TAGS_BELOW
    for each in (azure_types.ML_MODEL_VERSION, azure_types.ML_ENVIRONMENT_VERSION, azure_types.ML_CODE_VERSION)
} | {azure_types.BUDGET.token: {"eTag": "overrides"}}  # it takes no tags


def overridden(annotation: Any) -> OverridesOf | None:
    return next((each for each in get_args(annotation)[1:] if isinstance(each, OverridesOf)), None)


def types(annotation: Any) -> Iterator[str]:
    """The types of all resources that a stack file may override properties of."""
    kind = form(annotation)
    own = overridden(annotation)
    if own is not None:
        yield own.azure_type.token
    elif is_typeddict(kind):
        for hint in key_hints(kind).values():
            yield from types(hint)
    elif is_map(annotation):
        yield from types(below(annotation, "name"))


def everywhere(said: Any, annotation: Any) -> Any:
    """The same settings with overrides in everything that is created."""
    kind = form(annotation)
    if is_map(annotation):
        return {name: everywhere(each, below(annotation, name)) for name, each in said.items()}
    if not is_typeddict(kind):
        return said
    hints = key_hints(kind)
    whole = {"create": True} if said == "create" else said
    if not isinstance(whole, Mapping):
        return said
    own = overridden(hints["overrides"]) if "overrides" in hints and "existing" not in whole else None
    more = {"overrides": OF_TYPE.get(own.azure_type.token, TAGS)} if own is not None else {}
    return {**{key: everywhere(each, hints[key]) for key, each in whole.items()}, **more}


def happy() -> dict[str, dict[str, Any]]:
    return {file.stem: yaml.load(file.read_text(), yaml.CSafeLoader) for file in sorted(CASES.glob("*.happy.*.yaml"))}


@functools.cache
def declared(name: str) -> dict[str, Any]:
    """The resources of a case, with overrides everywhere."""
    case = happy()[name]
    said = {**case["says"], **({"job_environment": "create"} if "jobs" in case["says"] else {})}
    if "ml_workspace" in said:
        code = {"score": {"version": "1", "uri": "https://data.blob.core.windows.net/code/score"}}
        # pyrefly: ignore[invalid-argument]
        said["ml_workspace"] = {**said["ml_workspace"], "key_vault": "create", "insights": "create", "code": code}
    config = configuration(everywhere(said, StackFile))
    return recorded_bodies.declared_by_program(config, {**KEYS, **case.get("azure_answers", {})})


REACHED = {
    "budget.happy.defaults",
    "foundation.happy.create",
    "container_group.happy.defaults",
    "job.happy.defaults",
    "pool.happy.gallery_image",
    "cluster.happy.defaults",
    "ml_workspace.happy.defaults",
    "ml_endpoint.happy.blue_and_green",
    "vm.happy.defaults",
}


def test_overrides_reach_every_resource_that_takes_them() -> None:
    wanted = set(types(StackFile))
    reached: set[str] = set()
    for name in sorted(REACHED):
        for urn, resource in declared(name)["resources"].items():
            inputs: dict[str, Any] = resource["wire"]
            has = {**inputs.get("tags", {}), **inputs.get("properties", {}).get("tags", {})}
            if "overrides" in (has.get("set-by"), inputs.get("eTag")):
                reached.add(urn.split("::")[-2].rpartition("$")[2])
    assert reached == wanted


def test_what_the_component_sets_beside_them_stays() -> None:
    for name in ("pool.happy.gallery_image", "ml_endpoint.happy.blue_and_green"):
        before = recorded_bodies.recorded()[name]["resources"]
        for urn, resource in declared(name)["resources"].items():
            if urn in before and "traffic" not in urn:  # the template that holds the endpoint, too
                assert lines_but_tags(before[urn], resource) == []


def lines_but_tags(before: object, after: object) -> list[str]:
    return [line for line in recorded_bodies.differences(before, after) if "tags" not in line]


def pool(**overrides: Any) -> Recorded:
    given = args_of(BatchPoolArgs, GOOD["BatchPool"], {"overrides": overrides})
    return declare(lambda: BatchPool("t4", given), preview=True, lookups=LOOK_UPS)


def test_objects_are_merged_by_either_spelling_other_values_replaced_and_null_removed() -> None:
    recorded = pool(
        scale_settings={"autoScale": {"evaluation_interval": "PT5M"}},
        interNodeCommunication="Enabled",
        metadata=[{"name": "a", "value": pulumi.Output.from_input("b")}],
        targetNodeCommunicationMode=None,
    )
    inputs = recorded.named("t4-pool").inputs
    assert inputs["scaleSettings"]["autoScale"]["evaluationInterval"] == "PT5M"
    assert inputs["scaleSettings"]["autoScale"]["formula"]
    assert inputs["interNodeCommunication"] == "Enabled"
    assert inputs["metadata"] == [{"name": "a", "value": "b"}]
    assert "targetNodeCommunicationMode" not in inputs
    [told] = [line for line in recorded.log if "overrides" in line]
    assert "scaleSettings.autoScale.evaluationInterval, interNodeCommunication, metadata" in told
    assert "of t4-pool" in told


def test_a_property_of_several_kinds_is_merged_with_the_one_that_it_is() -> None:
    merged = recorded_bodies.declared_by_program(
        configuration(
            {
                **happy()["ml_workspace.happy.defaults"]["says"],
                "ml_workspace": {
                    "computes": {
                        "t4": {
                            "size": "Standard_NC4as_T4_v3",
                            "expires_after": "2026-12-31",
                            "overrides": {"properties": {"disable_local_auth": False, "properties": {"osType": "Windows"}}},
                        }
                    }
                },
            }
        ),
        KEYS,
    )
    [inputs] = [each["wire"] for urn, each in merged["resources"].items() if "machinelearningservices:Compute" in urn]
    assert inputs["properties"]["computeType"] == "AmlCompute"
    assert inputs["properties"]["disableLocalAuth"] is False
    assert inputs["properties"]["properties"]["osType"] == "Windows"
    assert inputs["properties"]["properties"]["vmSize"] == "Standard_NC4as_T4_v3"


def test_an_object_that_is_an_output_is_merged_once_it_is_known() -> None:
    found: list[Any] = []

    def build() -> None:
        body = {"properties": pulumi.Output.from_input({"authMode": "Key"}), "tags": None}
        merged = in_body(body, {"properties": {"description": "mine"}}, azure_types.ML_ONLINE_ENDPOINT)
        merged["properties"].apply(found.append)

    declare(build)
    assert found == [{"authMode": "Key", "description": "mine"}]
    assert in_body({"a": 1}, None, azure_types.ML_ONLINE_ENDPOINT) == {"a": 1}


@of_table("given", "path", "part")
def test_what_azure_native_does_not_have_is_refused_before_anything_is_declared(
    given: dict[str, Any], path: str, part: str
) -> None:
    [problem] = OverridesOf(azure_types.BATCH_POOL).check(given, "pools.t4.overrides")
    assert problem.path == f"pools.t4.overrides{path}"
    assert part in f"{problem.message} {problem.fix}"
    with pytest.raises(Refused, match="overrides"):
        pool(**given)
    said = {"pools": {"t4": {"size": "Standard_NC4as_T4_v3", "overrides": given}}, "batch_account": "create"}
    told = [str(each) for each in pure_problems(read(configuration(said), TODAY), PROJECT, STACK)]
    assert str(problem) in told


def test_every_property_of_the_sdk_is_known() -> None:
    given = {key: None for key in batch.PoolArgs.__init__.__annotations__ if key != "return"}
    wrong = [each.path for each in OverridesOf(azure_types.BATCH_POOL).check(given, "x")]
    assert sorted(wrong) == ["x.account_name", "x.pool_name", "x.resource_group_name"]


@of_table("section", "said")
def test_what_exists_has_no_overrides(section: str, said: dict[str, Any]) -> None:
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/x/providers"
    ids = {
        "foundation.registry": f"{group}/Microsoft.ContainerRegistry/registries/one",
        "job_environment": f"{group}/Microsoft.App/managedEnvironments/one",
        "batch_account": f"{group}/Microsoft.Batch/batchAccounts/one",
        "ml_workspace": f"{group}/Microsoft.MachineLearningServices/workspaces/one",
        "ml_workspace.key_vault": f"{group}/Microsoft.KeyVault/vaults/one",
        "clusters.a": f"{group}/Microsoft.ContainerService/managedClusters/one",
    }
    at: Any = said
    for step in section.split("."):
        at = at[step]
    at |= {"existing": ids[section], "overrides": TAGS}
    jobs = {"jobs": {"one": {"image": "python:3.11"}}} if section == "job_environment" else {}
    told = pure_problems(read(configuration({**said, **jobs}), TODAY), PROJECT, STACK)
    assert [each.path for each in told if "never changed" in each.message] == [f"{section}.overrides"]


def test_a_part_of_a_programs_foundation_takes_them_too() -> None:
    def build() -> None:
        Foundation("base", location="westeurope", storage={"create": True, "overrides": {"minimumTlsVersion": "TLS1_3"}})

    recorded = declare(build, lookups=LOOK_UPS)
    assert recorded.named("base-storage").inputs["minimumTlsVersion"] == "TLS1_3"


KEPT = ["networkProfile.networkPolicy", "features", "features.disableLocalAuth"]


@pytest.mark.parametrize(
    ("given", "stay"),
    [
        (None, KEPT),
        ({"networkProfile": {"loadBalancerProfile": {"idleTimeoutInMinutes": 5}}}, KEPT),
        ({"network_profile": {"network_policy": "calico"}}, KEPT[1:]),
        ({"networkProfile": None}, KEPT),
        ({"features": {"searchVersion": 1}}, [KEPT[0], KEPT[2]]),
        ({"features": {"disable_local_auth": False}}, KEPT[:1]),
    ],
)
def test_defaults_of_new_resources_leave_what_exists_alone_but_for_overrides(given: Any, stay: list[str]) -> None:
    assert left_alone(KEPT, given) == stay
