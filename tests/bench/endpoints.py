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
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.results import Bench, Limit
from tests.localazure.conftest import new_group
from tests.localazure.ml.online_images import Images
from tests.localazure.ml.online_world import Endpoint, Load
from tests.support.embedded import ServedAzure

ROUTER_MS = Limit("at most", 2)  # that the router adds to a request's p50
SHARE_OFF = Limit("at most", 28)  # requests of a thousand that 90 to 10 may be off: 3 standard deviations
BLUE, GREEN = 90, 10
SHARED = 1000  # requests that are shared out
CLIENTS = 4  # at most so many requests are under way when a container is killed
BODY = json.dumps({"echo": "x" * 1000}).encode()
TURN = 50  # requests, before it is the other way's turn


def measure(bench: Bench, azure: ServedAzure, requests: int) -> None:
    """`requests`: each way."""
    world = Images(azure, new_group(azure))
    world.let_pull(world.identity["properties"]["principalId"])
    one = world.endpoint()
    settings = {"requestSettings": {"maxConcurrentRequestsPerInstance": 20}, "environmentVariables": {"WEIGHTS": "unused"}}
    one.deploy("blue", "green", **world.custom(**settings))
    one.share(blue=100)
    direct, routed = _by_turns(one, azure, requests)
    one.share(blue=BLUE, green=GREEN)
    green = _shared(one, SHARED)["green"]
    one.deploy("blue", instances=2, **world.custom(**settings))
    one.share(blue=100)
    with Load(one, clients=CLIENTS) as load:
        os.kill(_process(one, azure), signal.SIGKILL)
        load.more(200)
    answered = load.statuses()[200]
    lost = sum(load.statuses().values()) - answered
    azure.finished(azure.delete(world.group, "2024-03-01"))
    direct_p50, routed_p50 = (1000 * statistics.median(each) for each in (direct, routed))
    routed_p99 = 1000 * statistics.quantiles(routed, n=100)[98]
    found = {"direct_p50": direct_p50, "routed_p50": routed_p50, "routed_p99": routed_p99, "requests": requests}
    bench.figures["endpoints"] = found | {"green": green, "lost_by_kill": lost, "answered_under_kill": answered}
    bench.say(
        f"a request to a container: p50 {direct_p50:.2f} ms directly, {routed_p50:.2f} ms (p99 {routed_p99:.2f}) through the "
        f"endpoint; of {SHARED} at 90 to 10, green got {green}; a killed container lost {lost} of {answered + lost}"
    )
    bench.hold("endpoints, what the router adds to a request, ms", ROUTER_MS, routed_p50 - direct_p50)
    bench.hold("endpoints, requests off 90 to 10", SHARE_OFF, abs(green - SHARED * GREEN / 100))
    bench.hold("endpoints, requests lost by a killed container", Limit("at most", CLIENTS), lost)


def _by_turns(one: Endpoint, azure: ServedAzure, requests: int) -> tuple[list[float], list[float]]:
    spec = json.loads((_folder(one, azure) / "spec.json").read_text())
    near = http.client.HTTPConnection("127.0.0.1", int(spec["env"]["PORT"]))
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


def _shared(one: Endpoint, count: int) -> Counter[str]:
    with one.client() as client:
        return Counter(client.post(one.uri, json={}).json()["answer"] for _ in range(count))


def _process(one: Endpoint, azure: ServedAzure) -> int:
    return int(json.loads((_folder(one, azure) / "state.json").read_text())["pid"])


def _folder(one: Endpoint, azure: ServedAzure) -> Path:
    """Where the first container of `blue` lies."""
    for folder in (azure.state / "ml-endpoints" / "containers").glob("*/instance-1"):
        mine = f"/{one.name}/" in (folder.parent / "group.json").read_text()
        if mine and json.loads((folder / "spec.json").read_text())["env"]["ANSWER"] == "blue":
            return folder
    raise RuntimeError("blue doesn't run")
