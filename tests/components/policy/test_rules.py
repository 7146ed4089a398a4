"""What each policy finds in resources of programs that don't use the components, and what it leaves alone."""

from typing import Any

import pytest

from azure_gpu_policies.known import UNKNOWN
from azure_gpu_policies.machines import machines_of
from azure_gpu_policies.page import CONFIGURED
from azure_gpu_policies.policies import ALL
from azure_gpu_policies.resources import Resource, renamed
from tests.components.policy.resources import ENDS, batch_pool, cluster, environment, group, judged, paths, resource, vm
from tests.support import newer
from tests.support.rows import each_row
from tests.support.tables import of_table, rows_of

GPU = "nvidia.com/gpu"


def storage(**said: Any) -> Resource:
    return resource("azure-native:storage:StorageAccount", said)


def registry(**said: Any) -> Resource:
    return resource("azure-native:containerregistry:Registry", said)


def batch_account(**said: Any) -> Resource:
    return resource("azure-native:batch:BatchAccount", said)


def endpoint(**said: Any) -> Resource:
    return resource("azure-native:machinelearningservices:OnlineEndpoint", {"properties": said}, "digits")


def written(token: str, given: dict[str, Any]) -> Resource:
    """A resource of a table, which leaves the name of the provider for Azure out."""
    return resource(token if token.startswith("kubernetes:") else f"azure-native:{token}", _with_unknown(given))


def _with_unknown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_unknown(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_unknown(each) for each in value]
    return UNKNOWN if value == "(unknown)" else value


NO_KEYS: dict[str, Any] = {"disableLocalAccounts": True}

FOUND = [(policy, written(token, given), where) for policy, token, given, where in rows_of(__file__, "found")]


@each_row(("policy", "declared", "where"), FOUND, ids=lambda each: getattr(each, "kind", None))
def test_a_fault_is_found_where_it_is_written_and_told_with_its_fix(policy: str, declared: Resource, where: list[str]) -> None:
    problems = judged(policy, declared)
    assert [each.path for each in problems] == [declared.path(each) for each in where]
    assert all(each.fix for each in problems)


def test_of_a_region_or_size_that_no_list_has_the_policy_tells_once() -> None:
    t4, wrong = "Standard_NC4as_T4_v3", list[object]()
    cases = [(vm(t4, location=each), "location") for each in newer.REGIONS]
    cases += [(vm(each, location="eastus"), "hardwareProfile.vmSize") for each in newer.SIZES]
    cases += [(batch_pool(each), "vmSize") for each in newer.SIZES]
    for declared, path in cases:
        found = {policy.name: judged(policy.name, declared) for policy in ALL if policy.name.startswith("gpu-")}
        if [(name, each.path) for name, problems in found.items() for each in problems if name != "gpu-end-date"] != [
            ("gpu-region", declared.path(path))
        ]:
            wrong.append((declared, found))
    assert wrong == []


CLEAN = [(policy, written(token, given)) for policy, token, given in rows_of(__file__, "clean")]


@each_row(("policy", "declared"), CLEAN, ids=lambda each: getattr(each, "kind", None))
def test_what_is_as_it_should_be_is_left_alone(policy: str, declared: Resource) -> None:
    assert judged(policy, declared) == []


def _opened(value: Any) -> Any:
    """Every value an output that a preview can't tell; lists and objects stay."""
    if isinstance(value, dict):
        return {key: _opened(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_opened(each) for each in value]
    return UNKNOWN


# Whatever its value is, that it is there is the fault.
THERE = ("cloudServiceConfiguration", "password", "startTask", "value")


@each_row("declared", [each for _, each, _ in FOUND], ids=lambda each: each.kind)
def test_nothing_is_said_of_values_that_only_the_update_knows(declared: Resource) -> None:
    written = {key: UNKNOWN for key in ("allowSharedKeyAccess", "disableLocalAccounts", "allowedAuthenticationModes")}
    access: dict[str, Any] = {"publicNetworkAccess": UNKNOWN, "apiServerAccessProfile": UNKNOWN, "tags": UNKNOWN}
    opened = {**written, **access, **_opened(declared.properties)}
    if "scaleSettings" in str(declared.properties) and opened.get("properties"):
        # pyrefly: ignore[bad-index]
        opened["properties"]["properties"]["scaleSettings"] = UNKNOWN
    if declared.type.endswith(":OnlineEndpoint"):
        # pyrefly: ignore[unsupported-operation]
        opened["properties"]["publicNetworkAccess"] = UNKNOWN
    told = [path for policy in ALL for path in paths(policy.name, declared._replace(properties=opened))]
    assert [path for path in told if not path.endswith(THERE)] == []


def test_keys_are_no_fault_of_a_private_endpoint_and_a_public_one_is_a_fault_where_identities_are_not_enough() -> None:
    for declared in (
        endpoint(authMode="AADToken", publicNetworkAccess="Enabled"),
        storage(allowSharedKeyAccess=False),
        registry(),
        batch_account(allowedAuthenticationModes=["AAD"]),
        resource("azure-native:machinelearningservices:Workspace", {"publicNetworkAccess": "Enabled"}),
    ):
        assert judged("public-endpoint", declared) == []
        assert len(judged("public-endpoint", declared, identity_is_enough=False)) == 1
    assert len(judged("public-kubernetes-api", cluster(**NO_KEYS), identity_is_enough=False)) == 1


def test_an_end_is_told_as_early_as_the_setting_asks() -> None:
    nvv3 = vm("Standard_NV12s_v3", location="uaenorth")  # until 2027-01-31
    [near] = judged("gpu-retiring", nvv3)
    assert "2027-01-31" in near.message
    assert judged("gpu-retiring", nvv3, days=30) == []
    nvv4 = vm("Standard_NV4as_v4", as_of="")
    assert judged("gpu-retiring", nvv4, as_of="2025-01-01") == []
    [far] = judged("gpu-retiring", nvv4, as_of="2025-01-01", days=3000)
    assert far.code.value == "RETIRING"


def test_the_tag_as_of_tells_the_day_unless_that_is_switched_off() -> None:
    old = vm("Standard_NC6", tags={"as-of": "2019-06-01"})
    assert paths("gpu-retired", old) == []
    assert paths("gpu-retired", old, as_of_tag=False) == ["hardwareProfile.vmSize"]
    assert paths("gpu-retired", old, as_of="2026-01-01") == ["hardwareProfile.vmSize"]


def test_exceptions_are_patterns_of_urns() -> None:
    declared = storage()
    assert paths("storage-shared-key", declared, exceptions=["*:StorageAccount::it"]) == []
    assert paths("storage-shared-key", declared, exceptions=["*::other"]) == ["allowSharedKeyAccess"]
    assert paths("gpu-end-date", vm("Standard_NC4as_T4_v3"), exceptions=["*::it"]) == []


def test_the_pages_own_exception_fits_a_pool() -> None:
    urn = "urn:pulumi:prod::shop::azuregpu:index:BatchPool$azure-native:batch:Pool::legacy"
    exceptions = CONFIGURED["gpu-retired"]["exceptions"]
    declared = batch_pool("Standard_NC6")
    assert paths("gpu-retired", declared, exceptions=exceptions) == ["vmSize"]
    assert paths("gpu-retired", declared._replace(urn=urn), exceptions=exceptions) == []


@pytest.mark.parametrize("policy", ["gpu-retired", "gpu-end-date"])
def test_a_day_that_the_calendar_does_not_have_is_told(policy: str) -> None:
    [problem] = judged(policy, vm("Standard_NC4as_T4_v3", tags=ENDS), as_of="2026-13-45")
    assert (problem.path, problem.value) == ("the setting as_of", "2026-13-45")


@pytest.mark.parametrize("priority", ["Spot", "Low", "low"])
def test_spot_has_older_names(priority: str) -> None:
    [machines] = machines_of(vm("Standard_NC4as_T4_v3", priority=priority))
    assert machines.spot is True


@pytest.mark.parametrize("named", ["properties", "onlineEndpointProperties"])
def test_an_ml_endpoint_of_version_2_of_the_provider_is_judged_as_one_of_today(named: str) -> None:
    declared = endpoint(authMode="Key")
    written = {named: declared.properties["properties"], "endpointName": "digits"}
    judged_as = declared._replace(properties=renamed(declared.type, written))
    assert paths("ml-endpoint-keys", judged_as) == ["properties.authMode"]


def test_regions_are_the_organizations_where_it_names_some() -> None:
    declared = vm("Standard_D4s_v5", location="West Europe")
    assert paths("allowed-regions", declared) == []
    assert paths("allowed-regions", declared, regions=["westeurope"]) == []
    assert paths("allowed-regions", declared, regions=["Sweden Central"]) == ["location"]
    anywhere = resource("azure-native:network:FrontDoor", {"location": "global"})
    assert paths("allowed-regions", anywhere, regions=["westeurope"]) == []


@pytest.mark.parametrize(
    "token",
    [
        "azure-native:storage:StorageAccount",
        "azure-native:storage/v20230101:StorageAccount",
        "azure-native_storage_v20240101:storage:StorageAccount",
        "azure-native_storage_v20240101:storage/v20240101:StorageAccount",
    ],
)
def test_each_api_version_of_a_resource_is_the_same_to_a_policy(token: str) -> None:
    assert paths("storage-shared-key", resource(token, {})) == ["allowSharedKeyAccess"]


@of_table("token", "keys")
def test_pods_are_found_wherever_they_are_made(token: str, keys: list[str]) -> None:
    properties: dict[str, Any] = {"hostNetwork": True}
    for key in reversed(keys):
        properties = {key: properties}
    assert paths("kubernetes-privileged", resource(token, properties)) == [f"{'.'.join(keys)}.hostNetwork"]


def test_a_resource_of_another_provider_is_nobodys_business() -> None:
    other = resource("aws:s3/bucket:Bucket", {"tags": {}, "vmSize": "Standard_NC6", "adminUserEnabled": True})
    for policy in ALL:
        assert judged(policy.name, other, **({"regions": ["eastus"]} if policy.name == "allowed-regions" else {})) == []


def test_a_value_is_never_shown_where_it_is_likely_to_be_a_secret() -> None:
    [problem] = judged("plain-text-secret", group({"environmentVariables": [{"name": "DB_PASSWORD", "value": "hunter2"}]}))
    assert "hunter2" not in str(problem)


def test_profiles_of_container_apps_are_judged_as_the_catalog_knows_them() -> None:
    assert judged("gpu-retired", environment(("gpu", "Consumption-GPU-NC8as-T4"))) == []
    nowhere = environment(("gpu", "NC24-A100"), location="eastus", tags=ENDS)  # no list has it there, which refuses nothing
    assert paths("gpu-region", nowhere) == ["location"]  # advice alone
