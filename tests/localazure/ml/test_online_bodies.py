"""The bodies of requests at the router of online endpoints: whole, too large, and clients that go away."""

import asyncio

import pytest

from localazure.ml import router
from tests.localazure.ml.routing import Scene, in_scene, play


@in_scene
async def test_a_chunked_body_arrives_whole_and_a_connection_is_used_again(scene: Scene) -> None:
    (blue,) = await scene.deploy("blue")
    scene.endpoint.share({"blue": 100}, None)
    for _ in range(3):
        answer = await scene.ask(chunks=[b"a" * 70_000, b"", b"b" * 70_000])
        assert answer.body == b"a" * 70_000 + b"b" * 70_000
    assert blue.connections == 1
    assert (await scene.ask({"close": True})).status == 200
    assert (await scene.ask(b"next")).body == b"next"
    assert blue.connections == 2


def test_a_body_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router, "MOST_BYTES", 1000)

    async def told(scene: Scene) -> None:
        (blue,) = await scene.deploy("blue")
        scene.endpoint.share({"blue": 100}, None)
        declared = await scene.ask(b"", headers={"content-length": "1001"})
        chunked = await scene.ask(chunks=[b"a" * 600, b"b" * 600])
        assert (declared.status, chunked.status) == (413, 413)
        assert declared.json["error"]["code"] == "RequestTooLarge"
        assert not blue.requests
        assert (await scene.ask(b"good")).status == 200

    play(told)


@in_scene
async def test_a_client_that_goes_away_while_it_waits_gives_its_place_to_the_next(scene: Scene) -> None:
    (blue,) = await scene.deploy("blue", concurrent=1)
    scene.endpoint.share({"blue": 100}, None)
    at_work, queued = [], []
    tasks = [asyncio.create_task(scene.ask({"sleep": 60}, leaving=each)) for each in (at_work, queued)]
    while not blue.requests or not queued:
        await asyncio.sleep(0.01)
    assert (await scene.ask(b"1")).status == 429
    for told_of in (queued, at_work):
        for each in told_of:
            each()
    assert [(await each).status for each in tasks] == [0, 0]
    assert (await scene.ask(b"1")).status == 200
    live = scene.endpoint.deployments["blue"]
    assert (live.pending, live.instances[0].in_flight, len(blue.requests)) == (0, 0, 2)


@in_scene
async def test_a_client_that_goes_away_leaves_nothing_behind(scene: Scene) -> None:
    (blue,) = await scene.deploy("blue", concurrent=1)
    scene.endpoint.share({"blue": 100}, None)
    answer = await scene.ask(chunks=[b"a", b"b"], gone=True, headers={"content-length": "5"})
    live = scene.endpoint.deployments["blue"]
    assert answer.status == 0
    assert (live.pending, live.instances[0].in_flight, blue.requests) == (0, 0, [])
