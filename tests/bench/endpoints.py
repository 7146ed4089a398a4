"""Online endpoints of the embedded Azure: what the router adds to a request, how it shares them out, what a killed process costs.

The container is a small server of the standard library, so that what is measured is the way there. The same instance is asked
directly and through the router, by turns, over one connection each; through the router that connection is TLS.
"""

import http.client
import json
import os
import signal
import ssl
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.localazure.conftest import new_group
from tests.localazure.ml.online_images import Images
from tests.localazure.ml.online_world import Endpoint, Load
from tests.support.embedded import ServedAzure

BLUE, GREEN = 90, 10
BODY = json.dumps({"echo": "x" * 1000}).encode()
TURN = 50  # requests, before it is the other way's turn


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Times in milliseconds."""

    requests: int  # each way
    direct_p50: float
    routed_p50: float
    routed_p99: float
    shared: int  # requests that were shared out
    green: int
    answered_under_kill: int
    lost_by_kill: int
    clients: int  # at most so many requests were under way

    @property
    def overhead_ms(self) -> float:
        return self.routed_p50 - self.direct_p50


def measure(azure: ServedAzure, requests: int, shared: int = 1000) -> Endpoints:
    world = Images(azure, new_group(azure))
    world.let_pull(world.identity["properties"]["principalId"])
    one = world.endpoint()
    settings = {"requestSettings": {"maxConcurrentRequestsPerInstance": 20}, "environmentVariables": {"WEIGHTS": "unused"}}
    one.deploy("blue", "green", **world.custom(**settings))
    one.share(blue=100)
    direct, routed = _by_turns(one, azure, requests)
    one.share(blue=BLUE, green=GREEN)
    green = _shared(one, azure, shared)["green"]
    one.deploy("blue", instances=2, **world.custom(**settings))
    one.share(blue=100)
    with Load(one, clients=4) as load:
        os.kill(_process(one, azure), signal.SIGKILL)
        load.more(200)
    answers = load.statuses()
    azure.finished(azure.delete(world.group, "2024-03-01"))
    return Endpoints(
        requests=requests,
        direct_p50=1000 * statistics.median(direct),
        routed_p50=1000 * statistics.median(routed),
        routed_p99=1000 * statistics.quantiles(routed, n=100)[98],
        shared=shared,
        green=green,
        answered_under_kill=answers[200],
        lost_by_kill=sum(answers.values()) - answers[200],
        clients=4,
    )


def _by_turns(one: Endpoint, azure: ServedAzure, requests: int) -> tuple[list[float], list[float]]:
    state = _spec(one, azure)
    near = http.client.HTTPConnection("127.0.0.1", int(state["env"]["PORT"]))
    trust = ssl.create_default_context(cafile=azure.state / "ca" / "ca.pem")
    far = http.client.HTTPSConnection("localhost", azure.port, context=trust)
    key = {"Authorization": f"Bearer {one.keys()['primaryKey']}"}
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(-(-requests // TURN)):
        times[0].extend(_timed(near, "/predict", {}, TURN))
        times[1].extend(_timed(far, urlsplit(one.uri).path, key, TURN))
    near.close()
    far.close()
    return times


def _timed(connection: http.client.HTTPConnection, path: str, headers: dict[str, str], count: int) -> list[float]:
    found: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        connection.request("POST", path, BODY, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        answer.read()
        found.append(time.perf_counter() - began)
        if answer.status != 200:
            raise RuntimeError(f"{path} answered {answer.status}")
    return found


def _shared(one: Endpoint, azure: ServedAzure, count: int) -> Counter[str]:
    with one.client() as client:
        return Counter(client.post(one.uri, json={}).json()["answer"] for _ in range(count))


def _spec(one: Endpoint, azure: ServedAzure) -> dict[str, dict[str, str]]:
    return json.loads((_folder(one, azure) / "spec.json").read_text())


def _process(one: Endpoint, azure: ServedAzure) -> int:
    return int(json.loads((_folder(one, azure) / "state.json").read_text())["pid"])


def _folder(one: Endpoint, azure: ServedAzure) -> Path:
    """Where the first container of `blue` lies."""
    for folder in (azure.state / "ml-endpoints" / "containers").glob("*/instance-1"):
        mine = f"/{one.name}/" in (folder.parent / "group.json").read_text()
        if mine and json.loads((folder / "spec.json").read_text())["env"]["ANSWER"] == "blue":
            return folder
    raise RuntimeError("blue doesn't run")
