"""Which configurations the plugin works with, and the one clear message of each that it refuses."""

from collections.abc import Mapping

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2

from localazure.plugin.settings import configuration_problems, read_settings
from localazure.plugin.wire import to_struct
from tests.localazure.plugin.conftest import SUBSCRIPTION, Engine, configuration
from tests.support.embedded import SECOND_SUBSCRIPTION

GOOD = configuration("localhost:8443")


def test_every_key_can_come_from_the_environment_by_the_real_providers_names() -> None:
    settings = read_settings(
        {},
        {
            "ARM_SUBSCRIPTION_ID": SUBSCRIPTION,
            "ARM_TENANT_ID": "t",
            "ARM_CLIENT_ID": "c",
            "ARM_CLIENT_SECRET": "s",
            "ARM_METADATA_HOSTNAME": "localhost:1",
            "ARM_DISABLE_INSTANCE_DISCOVERY": "true",
        },
    )
    assert (settings["tenantId"], settings["clientId"], settings["clientSecret"]) == ("t", "c", "s")
    assert (settings["metadataHost"], settings["disableInstanceDiscovery"]) == ("localhost:1", "true")


def test_configuration_goes_before_the_environment() -> None:
    assert (
        read_settings(GOOD, {"ARM_METADATA_HOSTNAME": "elsewhere", "ARM_LOCATION": "eastus"})["metadataHost"] == "localhost:8443"
    )
    assert read_settings(GOOD, {"ARM_LOCATION": "eastus"})["location"] == "eastus"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"subscriptionId": "8a8b7d1c-0000-4000-8000-000000000001"},
            f"subscription {SUBSCRIPTION} or {SECOND_SUBSCRIPTION}",
        ),
        ({"subscriptionId": ""}, "azure-native:subscriptionId is not set"),
        ({"metadataHost": ""}, "azure-native:metadataHost is not set"),
        ({"clientSecret": ""}, "azure-native:clientSecret is not set (environment: ARM_CLIENT_SECRET)"),
        ({"useMsi": "true"}, "azure-native:useMsi is true"),
        ({"useOidc": "true"}, "azure-native:useOidc is true"),
    ],
)
def test_each_wrong_configuration_is_one_message(change: Mapping[str, str], message: str) -> None:
    (problem,) = configuration_problems({**GOOD, **change}, {})
    assert message in problem


def test_another_subscription_is_refused_while_checking_and_while_configuring(unconfigured: Engine) -> None:
    wrong = {**GOOD, "subscriptionId": "8a8b7d1c-0000-4000-8000-000000000001"}
    checked = unconfigured.stub.CheckConfig(provider_pb2.CheckRequest(news=to_struct(wrong)))
    assert "8a8b7d1c-0000-4000-8000-000000000001" in checked.failures[0].reason
    with pytest.raises(grpc.RpcError, match=f"subscription {SUBSCRIPTION} or {SECOND_SUBSCRIPTION}"):
        unconfigured.configure(**wrong)


def test_a_configuration_that_is_not_known_yet_is_not_judged(unconfigured: Engine) -> None:
    unknown = {**GOOD, "subscriptionId": "04da6b54-80e4-46f7-96ec-b56ff0331ba9"}
    assert list(unconfigured.stub.CheckConfig(provider_pb2.CheckRequest(news=to_struct(unknown))).failures) == []


def test_the_plugin_says_what_it_can(unconfigured: Engine) -> None:
    answer = unconfigured.configure(**GOOD)
    assert (answer.supportsPreview, answer.supports_autonaming_configuration, answer.acceptSecrets) == (True, True, False)


def test_nothing_works_before_it_is_configured(unconfigured: Engine) -> None:
    with pytest.raises(grpc.RpcError, match="before it was configured"):
        unconfigured.check("azure-native:resources:ResourceGroup", {"location": "x"})
