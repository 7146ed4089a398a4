"""A server in the form of the Retail Prices API, an environment connected to the embedded Azure, what `explain` says there."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from azure_gpu_operations import local_connection
from azure_gpu_operations.__main__ import main
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.retail_prices import RetailPricesServer


@pytest.fixture(autouse=True)
def _no_stack_of_this_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `make up` has left here is none of a test's."""
    monkeypatch.setattr(local_connection, "CHECKOUT", None)


@pytest.fixture
def server() -> Iterator[RetailPricesServer]:
    running = RetailPricesServer()
    yield running
    running.stop()


@pytest.fixture
def signed_in(azure: EmbeddedAzure, monkeypatch: pytest.MonkeyPatch) -> EmbeddedAzure:
    """The environment that names the embedded Azure as the provider reads it."""
    for name, value in {
        "ARM_SUBSCRIPTION_ID": SUBSCRIPTION,
        "ARM_TENANT_ID": azure.tenant_id,
        "ARM_CLIENT_ID": azure.client_id,
        "ARM_CLIENT_SECRET": azure.client_secret,
        "ARM_METADATA_HOSTNAME": f"localhost:{azure.port}",
        "ARM_DISABLE_INSTANCE_DISCOVERY": "true",
        "REQUESTS_CA_BUNDLE": str(azure.ca_bundle),
    }.items():
        monkeypatch.setenv(name, value)
    return azure


@pytest.fixture
def connected(signed_in: EmbeddedAzure) -> Iterator[EmbeddedAzure]:
    """The same, for tests that make it fail."""
    yield signed_in
    signed_in.command("fault", "clear")


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Callable[[str], dict[str, Any]]:
    """What `explain ID --json` says."""

    def run(resource_id: str) -> dict[str, Any]:
        capsys.readouterr()
        code = main(["explain", resource_id, "--json"])
        told = json.loads(capsys.readouterr().out)
        assert code == {"UNKNOWN": 3, "HEALTHY": 0, "STARTING": 0}.get(told["cause"], 1), told
        return told

    return run
