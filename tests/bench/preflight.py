"""How long the online preflight takes, against the slowest of its lists: all late on purpose, read alone and all at once."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from azure_gpu_operations.azure import sign_in
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.preflight import lists, needs
from azure_gpu_operations.preflight.fetching import SharedCredential, fetch
from tests.support.embedded import SUBSCRIPTION, ServedAzure

DELAY_SECONDS = 0.5
NEEDS = tuple(f"{service}=Standard_NC4as_T4_v3*2@westeurope" for service in ("vm", "batch", "ml-endpoint"))


@dataclass(frozen=True, slots=True)
class Preflight:
    """Seconds. `slowest_list` is the slowest one read alone, `all_lists` the time of reading them at once, each with a login."""

    lists: int
    slowest_list: float
    all_lists: float


def measure(azure: ServedAzure) -> Preflight:
    """Each reading begins with a new login and new connections."""
    late = ("--method", "GET", "--path", "/subscriptions/*", "--seconds", str(DELAY_SECONDS), "--count", "0")
    done = azure.command("fault", "delay", *late)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    try:
        with _environment(azure):
            _seconds(azure, [0])  # the first login loads what all of them need
            alone = [_seconds(azure, [number]) for number in range(len(_readers(azure)))]
            together = _seconds(azure, range(len(alone)))
    finally:
        azure.command("fault", "clear")
    return Preflight(len(alone), max(alone), together)


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


@contextmanager
def _environment(azure: ServedAzure) -> Iterator[None]:
    """What a user's shell has: the secret, and the authorities that sign this server's certificate."""
    before = dict(os.environ)
    os.environ |= {"ARM_CLIENT_SECRET": azure.client_secret, "REQUESTS_CA_BUNDLE": str(azure.ca_bundle)}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= before
