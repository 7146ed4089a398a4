"""Existing parts in another subscription: which provider looks them up, and declares what is put into them."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import pulumi
import pulumi_azure_native as azure
import pytest

from azure_gpu import BatchPool, ContainerGroup, Foundation, GpuCluster, MlEndpoint
from azure_gpu.shared.refusal import Refused
from tests.components import recorded_bodies
from tests.components.answering import clusters_that_answer
from tests.components.recording import SUBSCRIPTION, Recorded, declare
from tests.components.settings_of import configuration
from tests.components.test_constructors import GOOD, LOOK_UPS

HUB = "99999999-2222-3333-4444-555555555555"
THERE = f"/subscriptions/{HUB}/resourceGroups/hub/providers"
LOGIN = {
    "azure-native:tenantId": "77777777-2222-3333-4444-555555555555",
    "azure-native:clientSecret": "not for everybody",
    "azure-native:useOidc": "true",
    "azure-native:auxiliaryTenantIds": '["88888888-2222-3333-4444-555555555555"]',
}
ANSWERS: dict[str, Any] = {
    **LOOK_UPS,
    "azure-native:containerservice:getManagedCluster": {"location": "westeurope", "aadProfile": {"enableAzureRBAC": True}},
    "azure-native:storage:getStorageAccount": {"id": f"{THERE}/Microsoft.Storage/storageAccounts/data"},
}


def of_stack(said: dict[str, Any]) -> dict[str, Any]:
    """What the program declares, in the form of the record."""
    flagged = mock.patch("azure_gpu.shared.look_up.is_config_secret", lambda key: key.endswith("clientSecret"))
    with flagged:
        return recorded_bodies.declared_by_program({**configuration(said), **LOGIN}, ANSWERS)


def provider_of(found: dict[str, Any], name: str) -> str:
    [resource] = [each for urn, each in found["resources"].items() if urn.endswith(f"::{name}")]
    return resource["provider"]


def test_what_a_stack_has_elsewhere_is_looked_up_there_with_the_login_of_the_configuration() -> None:
    said = {
        "foundation": {
            "identity": {"existing": f"{THERE}/Microsoft.ManagedIdentity/userAssignedIdentities/speaker"},
            "registry": {"existing": f"{THERE}/Microsoft.ContainerRegistry/registries/images"},
            "log_workspace": {"existing": f"{THERE}/Microsoft.OperationalInsights/workspaces/logs"},
            "storage": {"existing": f"{THERE}/Microsoft.Storage/storageAccounts/data"},
        },
        "container_groups": {"web": {"image": "python:3.11"}},
        "batch_account": {"existing": f"{THERE}/Microsoft.Batch/batchAccounts/pools"},
        "pools": {"t4": {"size": "Standard_NC4as_T4_v3", "expires_after": "2099-03-31"}},
    }
    found = of_stack(said)
    [urn] = [urn for urn in found["resources"] if urn.endswith(f"::subscription-{HUB}")]
    inputs = found["resources"][urn]["wire"]
    assert inputs["subscriptionId"] == HUB
    assert inputs["tenantId"] == LOGIN["azure-native:tenantId"]
    assert "not for everybody" not in str({**inputs, "clientSecret": ""})
    assert inputs["clientSecret"] != "not for everybody"  # marked as a secret
    assert (inputs["useOidc"], inputs["auxiliaryTenantIds"]) == ("true", '["88888888-2222-3333-4444-555555555555"]')
    elsewhere = [each for each in found["lookups"] if f"subscription-{HUB}" in each]
    assert elsewhere == [each for each in found["lookups"] if "pulumi:pulumi:readStackOutputs" not in each]
    for token in (
        "getUserAssignedIdentity",
        "getRegistry",
        "getWorkspace",
        "getStorageAccount",
        "getBatchAccount",
    ):
        assert any(token in each for each in elsewhere), token
    assert f"subscription-{HUB}" in provider_of(found, "t4-pool")
    assert provider_of(found, "web-group") == ""


def test_a_cluster_and_a_workspace_elsewhere_get_their_parts_there() -> None:
    cluster = {"existing": f"{THERE}/Microsoft.ContainerService/managedClusters/shared", "expires_after": "2099-03-31"}
    said = {
        "clusters": {"gpu": {**cluster, "gpu_pools": {"t4": {"size": "Standard_NC4as_T4_v3"}}}},
        "ml_workspace": {
            "existing": f"{THERE}/Microsoft.MachineLearningServices/workspaces/models",
            "models": {"digits": {"version": "1", "uri": "https://data.blob.core.windows.net/models/digits"}},
        },
    }
    found = of_stack(said)
    for name in ("gpu-pool-t4", "ml-model-digits"):
        assert f"subscription-{HUB}" in provider_of(found, name)


def test_a_stack_whose_parts_are_all_its_own_has_no_other_provider() -> None:
    own = f"/subscriptions/{SUBSCRIPTION.upper()}/resourceGroups/x/providers/Microsoft.ContainerRegistry/registries/images"
    found = of_stack({"foundation": {"identity": "create", "registry": {"existing": own}}})
    assert not any("pulumi:providers" in urn for urn in found["resources"])


def build_with(own: bool, **more: Any) -> Recorded:
    """A pool of a program in an account elsewhere, with a provider of its own or the default one."""

    def build() -> None:
        provider = azure.Provider("mine", subscription_id=SUBSCRIPTION) if own else None
        others = {HUB.upper(): azure.Provider("theirs", subscription_id=HUB)} if more.pop("given", False) else {}
        given: Any = {**GOOD["BatchPool"], "batch_account": f"{THERE}/Microsoft.Batch/batchAccounts/pools", **more}
        if others:
            given["other_subscriptions"] = others
        BatchPool("t4", given, pulumi.ResourceOptions(provider=provider))

    return declare(build, lookups=ANSWERS)


def test_a_program_logs_in_elsewhere_as_it_is_configured_or_with_the_provider_that_it_gives() -> None:
    assert "subscription-" in build_with(own=False).named("t4-pool").provider
    recorded = build_with(own=True, given=True)
    assert "::theirs::" in recorded.named("t4-pool").provider
    by = dict(zip([token for token, _ in recorded.lookups], recorded.lookup_providers, strict=True))
    assert "::theirs::" in by["azure-native:batch:getBatchAccount"]


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("batch_account", "Microsoft.Batch/batchAccounts/pools"),
        ("registry_id", "Microsoft.ContainerRegistry/registries/images"),
        ("log_workspace_id", "Microsoft.OperationalInsights/workspaces/logs"),
    ],
)
def test_a_program_with_a_provider_of_its_own_says_how_to_log_in_elsewhere(key: str, given: str) -> None:
    with pytest.raises(Refused) as refused:
        build_with(own=True, **{"batch_account": GOOD["BatchPool"]["batch_account"], key: f"{THERE}/{given}"})
    said = str(refused.value)
    assert f'BatchPool("t4").{key}: in another subscription' in said
    assert f'add BatchPool("t4").other_subscriptions: {{"{HUB}"' in said


@pytest.mark.parametrize("kind", [ContainerGroup, Foundation, GpuCluster, MlEndpoint], ids=lambda kind: kind.__name__)
def test_something_else_than_a_provider_is_refused(kind: Callable[..., object]) -> None:
    def build() -> None:
        kind("x", {**GOOD[kind.__name__], "other_subscriptions": {HUB: "mine"}})

    with clusters_that_answer(), pytest.raises(Refused, match=rf"other_subscriptions\.{HUB}"):
        declare(build, lookups=ANSWERS)
