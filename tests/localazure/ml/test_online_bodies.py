"""The bodies of requests at the router of online endpoints: whole, too large, too slow, too many, and clients that go away."""

import asyncio

import pytest
from starlette.types import Message

from localazure.ml import bodies
from localazure.ml.scoring_errors import RefusedError
from tests.localazure.ml.routing import Scene, in_scene, play, play_coroutine


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


def test_a_body_that_is_too_large_or_never_comes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_BYTES", 1000)
    monkeypatch.setattr(bodies, "IDLE_SECONDS", 0.05)

    async def told(scene: Scene) -> None:
        (blue,) = await scene.deploy("blue")
        scene.endpoint.share({"blue": 100}, None)
        declared = await scene.ask(b"", headers={"content-length": "1001"})
        chunked = await scene.ask(chunks=[b"a" * 600, b"b" * 600])
        assert (declared.status, chunked.status) == (413, 413)
        assert declared.json["error"]["code"] == "RequestTooLarge"
        incoming = [{"type": "http.request", "body": b"a", "more_body": True}]

        async def receive() -> Message:
            if not incoming:
                await asyncio.Event().wait()  # for ever
            return incoming.pop()

        with pytest.raises(RefusedError) as refused:
            async with bodies.Memory().whole(receive, b"10"):
                pass
        assert refused.value.status == 408
        assert not blue.requests
        assert (await scene.ask(b"good")).status == 200

    play(told)


def test_a_body_that_comes_drop_by_drop_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "WHOLE_SECONDS", 0.05)

    async def receive() -> Message:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"a", "more_body": True}

    with pytest.raises(RefusedError) as refused:
        play_coroutine(bodies.Memory().whole(receive, b"100").__aenter__())
    assert (refused.value.status, refused.value.code) == (408, "RequestBodyTimeout")


def test_bodies_take_so_much_memory_together_and_give_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_TOGETHER", 1000)

    async def told(scene: Scene) -> None:
        await scene.deploy("blue")
        scene.endpoint.share({"blue": 100}, None)
        first = asyncio.create_task(scene.ask({"sleep": 0.1, "fill": "x" * 600}))
        await asyncio.sleep(0.02)
        turned_away = await scene.ask(b"a" * 600)
        assert (turned_away.status, turned_away.json["error"]["code"]) == (503, "TooManyBytesPending")
        assert (await first).status == 200
        assert (await scene.ask(b"a" * 600)).status == 200

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
