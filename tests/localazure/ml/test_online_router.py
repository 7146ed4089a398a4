"""The router of online endpoints: shares, mirrored copies, limits, timeouts, and requests whose container is lost.

Statuses: Microsoft Learn, machine-learning/how-to-troubleshoot-online-endpoints, "HTTP status codes".
"""

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

from localazure.folder import write_json
from localazure.ml import failures
from localazure.ml.generations import Generation
from localazure.ml.live import Deck
from localazure.ml.pod_forms import CONTAINER, GENERATION
from localazure.ml.pods import Cluster, RunningOnCluster
from localazure.ml.settings import PROBE, probe
from localazure.ml.slots import LiveDeployment, Settings
from tests.localazure.ml.routing import Scene, in_scene, play_coroutine


def test_each_hundred_requests_hold_the_shares_that_were_asked_for() -> None:
    deck = Deck({"blue": 90, "green": 10}, random.Random(1))
    dealt = [deck.deal() for _ in range(1000)]
    assert Counter(dealt) == {"blue": 900, "green": 100}
    assert {tuple(sorted(Counter(dealt[start : start + 100]).items())) for start in range(0, 1000, 100)} == {
        (("blue", 90), ("green", 10))
    }
    assert dealt[:100] != dealt[100:200]  # in another order each time


def test_a_deck_leaves_requests_out_that_no_share_covers() -> None:
    deck = Deck({"green": 20}, random.Random(1))
    assert Counter(deck.deal() for _ in range(200)) == {"green": 40, "": 160}


@in_scene
async def test_a_request_reaches_a_container_with_its_body_and_without_the_key(scene: Scene) -> None:
    (blue,) = await scene.deploy("blue")
    scene.endpoint.share({"blue": 100}, None)
    answer = await scene.ask(b"hello", "/ml/westeurope/e/score?a=%20b", headers={"content-type": "text/plain"})
    assert (answer.status, answer.body) == (200, b"hello")
    assert answer.headers["azureml-model-deployment"] == "blue"
    assert answer.headers["x-own"] == "1"
    line, headers, _ = blue.requests[0]
    assert line == "POST /score?a=%20b HTTP/1.1"
    assert "authorization" not in headers
    assert headers["content-type"] == "text/plain"
    assert headers["x-request-id"] == answer.headers["x-request-id"]


@in_scene
async def test_the_scoring_route_of_a_custom_container_and_other_paths_are_the_containers_own(scene: Scene) -> None:
    (blue,) = await scene.deploy("blue")
    scene.endpoint.deployments["blue"].instances[0].scoring_path = b"/v2/predict"
    scene.endpoint.share({"blue": 100}, None)
    await scene.ask(b"1")
    await scene.ask(b"", "/ml/westeurope/e/swagger.json?version=3", "GET")
    lines = [line for line, _, _ in blue.requests]
    assert lines == ["POST /v2/predict HTTP/1.1", "GET /swagger.json?version=3 HTTP/1.1"]


def test_pods_of_two_generations_are_each_asked_at_their_own_route(tmp_path: Path) -> None:
    def away() -> Cluster:
        raise failures.of("InferencingClientCallFailed", "for tests")

    async def told() -> None:
        live = LiveDeployment("blue", Settings(timeout_seconds=5, concurrent=1, wait_seconds=0))
        running = RunningOnCluster(live, tmp_path, "e-blue", away)
        pods: dict[str, Any] = {}
        for name, path in (("old", "/score"), ("new", "/v2/predict")):
            (tmp_path / "pods" / name).mkdir(parents=True)
            write_json(tmp_path / "pods" / name / "pod.json", {"ports": {CONTAINER: {"5001": 9}}})
            pods[name] = {"metadata": {"name": name, "labels": {GENERATION: name}}, "status": {"phase": "Running"}}
            running.take_up(
                Generation(name, "d", "f", [5001, path], [5001, "/"]), probe({"readinessProbe": PROBE}, "readinessProbe")
            )
        await running._took(cast(Any, Cluster(cast(Any, None), "n", tmp_path, {})), pods)
        assert [(each.name, each.scoring_path) for each in live.instances] == [("old", b"/score"), ("new", b"/v2/predict")]
        await running.close()

    play_coroutine(told())


@pytest.mark.parametrize("name", ["green", "GREEN"])
@in_scene
async def test_a_request_that_names_a_deployment_goes_there_and_is_not_mirrored(scene: Scene, name: str) -> None:
    (blue,), (green,) = await scene.deploy("blue"), await scene.deploy("green")
    scene.endpoint.share({"blue": 100}, {"green": 50})
    answer = await scene.ask(b"1", headers={"azureml-model-deployment": name})
    assert answer.headers["azureml-model-deployment"] == "green"
    assert (len(blue.requests), len(green.requests)) == (0, 1)


@in_scene
async def test_mirrored_copies_never_change_an_answer(scene: Scene) -> None:
    (blue,), (green,) = await scene.deploy("blue"), await scene.deploy("green", timeout=0.2)
    scene.endpoint.share({"blue": 100}, {"green": 50})
    for number in range(100):
        told_to_green = {"sleep": 0} if number % 2 else {"status": 200, "n": number}
        answer = await scene.ask(told_to_green)
        assert answer.status == 200
        assert answer.headers["azureml-model-deployment"] == "blue"
    while len(green.requests) < 50:
        await asyncio.sleep(0.01)
    assert (len(blue.requests), len(green.requests)) == (100, 50)
    await green.stop()
    assert {(await scene.ask(b"1")).status for _ in range(20)} == {200}


@pytest.mark.parametrize(
    ("path", "headers", "status", "code"),
    [
        pytest.param("/ml/westeurope/e/score", {"authorization": ""}, 401, "key_auth_access_denied", id="no key"),
        pytest.param("/ml/westeurope/e/score", {"authorization": "Bearer b"}, 401, "key_auth_access_denied", id="a wrong key"),
        pytest.param("/ml/eastus/e/score", {}, 404, "EndpointNotFound", id="another region"),
        pytest.param("/ml/westeurope/f/score", {}, 404, "EndpointNotFound", id="another endpoint"),
        pytest.param("/ml/westeurope/e/score", {}, 404, "NoDeploymentWithTraffic", id="no traffic"),
        pytest.param(
            "/ml/westeurope/e/score", {"azureml-model-deployment": "red"}, 404, "DeploymentNotFound", id="no such deployment"
        ),
    ],
)
@in_scene
async def test_what_reaches_no_deployment_is_refused_in_json(
    scene: Scene, path: str, headers: dict[str, str], status: int, code: str
) -> None:
    (blue,) = await scene.deploy("blue")
    answer = await scene.ask(b"1", path, headers=headers)
    assert (answer.status, answer.json["error"]["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/json"
    assert not blue.requests


@pytest.mark.parametrize("status", [400, 404, 405, 413, 500, 302])
@in_scene
async def test_what_a_managed_container_refuses_is_a_model_error_with_its_own_body(scene: Scene, status: int) -> None:
    await scene.deploy("blue")
    scene.endpoint.share({"blue": 100}, None)
    answer = await scene.ask({"status": status, "message": "why"})
    assert answer.status == 424
    assert answer.headers["ms-azureml-model-error-statuscode"] == str(status)
    assert answer.headers["ms-azureml-model-error-reason"] == "Told"
    assert answer.json["message"] == "why"


@pytest.mark.parametrize(("given", "status"), [(400, 400), (500, 502), (200, 200)])
@in_scene
async def test_kubernetes_passes_refusals_on_and_tells_a_failure_as_502(scene: Scene, given: int, status: int) -> None:
    await scene.deploy("blue")
    scene.endpoint.deployments["blue"].settings.kubernetes = True
    scene.endpoint.share({"blue": 100}, None)
    assert (await scene.ask({"status": given})).status == status


@pytest.mark.parametrize(("kubernetes", "status"), [(False, 408), (True, 504)])
@in_scene
async def test_a_request_that_takes_too_long_is_given_up(scene: Scene, kubernetes: bool, status: int) -> None:
    await scene.deploy("blue", timeout=0.1)
    scene.endpoint.deployments["blue"].settings.kubernetes = kubernetes
    scene.endpoint.share({"blue": 100}, None)
    answer = await scene.ask({"sleep": 3})
    assert (answer.status, answer.json["error"]["code"]) == (status, "ScoreRequestTimeout")
    assert (await scene.ask(b"next")).status == 200


@in_scene
async def test_an_instance_answers_as_many_at_a_time_as_it_may_and_more_than_twice_that_are_turned_away(scene: Scene) -> None:
    (blue,) = await scene.deploy("blue", concurrent=2)
    scene.endpoint.share({"blue": 100}, None)
    answers = await asyncio.gather(*(scene.ask({"sleep": 0.1}) for _ in range(7)))
    assert Counter(answer.status for answer in answers) == {200: 4, 429: 3}
    assert blue.most_at_once == 2
    assert (await scene.ask(b"1")).status == 200


@in_scene
async def test_requests_are_shared_among_the_instances(scene: Scene) -> None:
    one, two = await scene.deploy("blue", 2, concurrent=1)
    scene.endpoint.share({"blue": 100}, None)
    answers = await asyncio.gather(*(scene.ask({"sleep": 0.05}) for _ in range(4)))
    assert {answer.status for answer in answers} == {200}
    assert (len(one.requests), len(two.requests)) == (2, 2)


@in_scene
async def test_an_instance_where_nobody_listens_is_passed_over_and_costs_nothing(scene: Scene) -> None:
    one, two = await scene.deploy("blue", 2)
    scene.endpoint.share({"blue": 100}, None)
    await one.stop()
    assert {(await scene.ask(b"1")).status for _ in range(10)} == {200}
    assert len(two.requests) == 10
    gone = next(each for each in scene.endpoint.deployments["blue"].instances if each.upstream.port == one.port)
    assert not gone.ready
    assert gone.disturbed.is_set()


@in_scene
async def test_where_no_instance_is_ready_a_request_waits_a_moment_and_gets_503(scene: Scene) -> None:
    (blue,) = await scene.deploy("blue")
    live = scene.endpoint.deployments["blue"]
    scene.endpoint.share({"blue": 100}, None)
    live.instances[0].ready = False
    answer = await scene.ask(b"1")
    assert (answer.status, answer.json["error"]["code"]) == (503, "DeploymentNotReady")
    live.settings.wait_seconds = 5
    waiting = asyncio.create_task(scene.ask(b"1"))
    await asyncio.sleep(0.05)
    live.instances[0].ready = True
    live.changed()
    assert (await waiting).status == 200
    assert len(blue.requests) == 1


@in_scene
async def test_a_request_whose_container_dies_is_lost_and_never_sent_twice(scene: Scene) -> None:
    one, two = await scene.deploy("blue", 2)
    scene.endpoint.share({"blue": 100}, None)
    answer = await scene.ask({"die": True})
    assert (answer.status, answer.json["error"]["code"]) == (502, "ContainerLost")
    assert len(one.requests) + len(two.requests) == 1
    assert (await scene.ask(b"1")).status == 200


@in_scene
async def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(scene: Scene) -> None:
    await scene.deploy("blue")
    scene.endpoint.share({"blue": 100}, None)
    answer = await scene.ask({"big": 3_000_000, "half": True})
    assert (answer.status, answer.aborted) == (200, True)
    assert (await scene.ask({"big": 3_000_000})).body == b"x" * 3_000_000


@in_scene
async def test_a_place_that_becomes_free_as_the_first_in_the_queue_gives_up_goes_to_the_second(scene: Scene) -> None:
    await scene.deploy("blue", concurrent=1)
    live = scene.endpoint.deployments["blue"]
    deadline = asyncio.get_running_loop().time() + 5
    place = live.enter()
    await place.instance(deadline)
    first, second = (asyncio.create_task(live.one(deadline)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    place.leave()  # before the first has heard of it
    assert (await second).in_flight == 1


@in_scene
async def test_shares_that_change_leave_requests_under_way_where_they_are(scene: Scene) -> None:
    await scene.deploy("blue")
    await scene.deploy("green")
    scene.endpoint.share({"blue": 100, "green": 0}, None)
    under_way = [asyncio.create_task(scene.ask({"sleep": 0.1})) for _ in range(5)]
    await asyncio.sleep(0.02)
    scene.endpoint.share({"blue": 0, "green": 100}, None)
    later = [await scene.ask(b"1") for _ in range(5)]
    assert {answer.headers["azureml-model-deployment"] for answer in later} == {"green"}
    answers = await asyncio.gather(*under_way)
    assert {(answer.status, answer.headers["azureml-model-deployment"]) for answer in answers} == {(200, "blue")}


@in_scene
async def test_a_request_that_gives_up_its_place_in_the_queue_leaves_it_to_the_next(scene: Scene) -> None:
    (blue,) = await scene.deploy("blue", concurrent=1)
    scene.endpoint.share({"blue": 100}, None)
    first = asyncio.create_task(scene.ask({"sleep": 0.1}))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(scene.ask({"n": 2}))
    await asyncio.sleep(0.01)
    second.cancel()
    await asyncio.wait([second])
    third = asyncio.create_task(scene.ask({"n": 3}))
    assert [(await first).status, (await third).status] == [200, 200]
    live = scene.endpoint.deployments["blue"]
    assert (live.pending, live.instances[0].in_flight, len(blue.requests)) == (0, 0, 2)
