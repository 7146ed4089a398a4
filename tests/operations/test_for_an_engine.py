"""Without an engine, aliases that a program gives stay, and those of an SDK are left out."""

import pulumi

from azure_gpu_operations.graph import for_an_engine


def aliases(found: pulumi.ResourceOptions) -> list[object]:
    return list(found.aliases or ())


def test_the_sdk_s_aliases_are_left_out_and_no_others() -> None:
    own = [
        pulumi.Alias(name="before"),
        pulumi.Alias(type_="azure-native:batch:Pool", name="before"),
        pulumi.Alias(type_="azuregpu:index:Pool"),
        "urn:pulumi:dev::azure-gpu::azure-native:batch:Pool::before",
    ]
    of_sdk = [
        pulumi.Alias(type_="azure-native:batch/v20240701:Pool"),
        pulumi.Alias(type_="kubernetes:extensions/v1beta1:DaemonSet"),
    ]
    merge = pulumi.ResourceOptions.merge
    with for_an_engine.left_out():
        found = pulumi.ResourceOptions.merge(pulumi.ResourceOptions(aliases=own), pulumi.ResourceOptions(aliases=of_sdk))
        assert aliases(found) == own
        assert aliases(pulumi.ResourceOptions.merge(None, pulumi.ResourceOptions(aliases=of_sdk))) == []
    assert pulumi.ResourceOptions.merge is merge
