"""How long the online preflight takes, against the slowest of its lists: all late on purpose, read alone and all at once."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from unittest import mock

from azure_gpu_operations.azure import sign_in
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.preflight import lists, needs
from azure_gpu_operations.preflight.fetching import SharedCredential, fetch
from tests.bench.results import Bench, Limit, succeeded
from tests.support.embedded import SUBSCRIPTION, ServedAzure

BEYOND_SLOWEST_SECONDS = Limit("at most", 1)
DELAY_SECONDS = 0.5
NEEDS = tuple(f"{service}=Standard_NC4as_T4_v3*2@westeurope" for service in ("vm", "batch", "ml-endpoint"))


def measure(bench: Bench, azure: ServedAzure) -> None:
    """Each reading begins with a new login and new connections."""
    late = ("--method", "GET", "--path", "/subscriptions/*", "--seconds", str(DELAY_SECONDS), "--count", "0")
    succeeded(azure.command("fault", "delay", *late))
    # What a user's shell has: the secret, and the authorities that sign this server's certificate.
    shell = {"ARM_CLIENT_SECRET": azure.client_secret, "REQUESTS_CA_BUNDLE": str(azure.ca_bundle)}
    try:
        with mock.patch.dict(os.environ, shell):
            _seconds(azure, [0])  # the first login loads what all of them need
            alone = [_seconds(azure, [number]) for number in range(len(_readers(azure)))]
            together = _seconds(azure, range(len(alone)))
    finally:
        azure.command("fault", "clear")
    bench.figures["preflight"] = {"lists": len(alone), "slowest_list": max(alone), "all_lists": together}
    bench.say(f"online preflight, {len(alone)} lists: {together:.2f} s; the slowest alone: {max(alone):.2f} s")
    bench.hold("online preflight beyond its slowest list, in s", BEYOND_SLOWEST_SECONDS, together - max(alone))


def _seconds(azure: ServedAzure, numbers: "list[int] | range") -> float:
    """Wall time of the login and of these lists."""
    began = time.perf_counter()
    readers = list(_readers(azure).items())
    outcomes = fetch(dict(readers[number] for number in numbers))
    took = time.perf_counter() - began
    missing = [f"{key}: {outcome.missing}" for key, outcome in outcomes.items() if outcome.missing]
    if missing:
        raise RuntimeError("; ".join(missing))
    return took


def _readers(azure: ServedAzure) -> Mapping[lists.ListKey, Callable[[], Any]]:
    login = sign_in(Connection(SUBSCRIPTION, azure.tenant_id, azure.client_id, f"localhost:{azure.port}", True))
    shared = replace(login, credential=SharedCredential(login.credential))
    return lists.readers(shared, SUBSCRIPTION, [needs.parse(text) for text in NEEDS])
