"""The client of our own: requests, refusals, watches, and following what is while the server comes and goes."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import certifi
import pytest

from localazure.kubernetes import client
from localazure.kubernetes.client import Event, KubeApi, KubeError
from localazure.kubernetes.pki import Pki
from tests.localazure.coroutines import within
from tests.support.kubernetes import ControlPlane
from tests.support.patience import SECONDS

Body = dict[str, Any]


def talk(control_plane: ControlPlane, work: Callable[[KubeApi], Awaitable[None]]) -> None:
    """Runs `work` with a client of its own."""

    async def whole() -> None:
        api = control_plane.api()
        try:
            await asyncio.wait_for(work(api), SECONDS)
        finally:
            await api.close()

    asyncio.run(whole())


with_api = within(talk, "control_plane")


def maps(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps" + (f"/{name}" if name else "")


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> Body:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels or {}}, "data": data}


@with_api
async def test_an_object_lives_from_creation_to_deletion(api: KubeApi, namespace: str) -> None:
    path = maps(namespace, "one")
    assert await api.find(path) is None
    made = await api.create(maps(namespace), config_map("one", a="1"))
    assert (await api.get(path))["metadata"]["uid"] == made["metadata"]["uid"]
    replaced = await api.replace(path, {**made, "data": {"b": "2"}})
    assert replaced["data"] == {"b": "2"}
    assert (await api.patch(path, {"data": {"c": "3"}}))["data"] == {"b": "2", "c": "3"}
    removed = await api.patch(path, [{"op": "remove", "path": "/data/b"}], kind="json")
    assert removed["data"] == {"c": "3"}
    assert await api.delete(path) is not None
    assert await api.delete(path) is None


@with_api
async def test_who_applies_takes_over_what_another_has_said(api: KubeApi, namespace: str) -> None:
    path = maps(namespace, "applied")
    await api.apply(path, config_map("applied", a="1"), field_manager="first")
    assert (await api.apply(path, config_map("applied", a="2"), field_manager="second"))["data"] == {"a": "2"}


@with_api
async def test_a_refusal_has_the_servers_reason_and_words(api: KubeApi, namespace: str) -> None:
    with pytest.raises(KubeError) as missing:
        await api.get(maps(namespace, "nothing"))
    assert (missing.value.status, missing.value.reason) == (404, "NotFound")
    assert missing.value.message == 'configmaps "nothing" not found'
    with pytest.raises(KubeError) as invalid:
        await api.create(maps(namespace), config_map("Not A Name"))
    assert (invalid.value.status, invalid.value.reason) == (422, "Invalid")


@with_api
async def test_an_object_with_the_same_name_but_another_identity_is_not_deleted(api: KubeApi, namespace: str) -> None:
    await api.create(maps(namespace), config_map("kept"))
    assert await api.delete(maps(namespace, "kept"), uid="00000000-0000-0000-0000-000000000000") is None
    assert await api.find(maps(namespace, "kept")) is not None


@with_api
async def test_a_list_takes_selectors(api: KubeApi, namespace: str) -> None:
    for name, colour in (("r", "red"), ("b", "blue")):
        await api.create(maps(namespace), config_map(name, {"colour": colour}))
    red = await api.list(maps(namespace), labels="colour in (red)")
    named = await api.list(maps(namespace), fields="metadata.name=b")
    assert [one["metadata"]["name"] for one in red["items"]] == ["r"]
    assert [one["metadata"]["name"] for one in named["items"]] == ["b"]


@with_api
async def test_what_is_followed_comes_as_a_list_and_then_as_it_happens(api: KubeApi, namespace: str) -> None:
    await api.create(maps(namespace), config_map("early", {"mine": "yes"}))
    seen: list[tuple[str, str]] = []
    async for event in api.follow(maps(namespace), labels="mine=yes"):
        names = event.object["items"] if event.type == "SYNCED" else [event.object]
        seen += [(event.type, one["metadata"]["name"]) for one in names]
        if len(seen) == 1:
            await api.create(maps(namespace), config_map("late", {"mine": "yes"}))
        elif len(seen) == 2:
            await api.patch(maps(namespace, "late"), {"data": {"a": "1"}})
        elif len(seen) == 3:
            await api.delete(maps(namespace, "early"))
        else:
            break
    assert seen == [("SYNCED", "early"), ("ADDED", "late"), ("MODIFIED", "late"), ("DELETED", "early")]


@with_api
async def test_following_lists_anew_where_what_it_knows_is_too_long_ago(
    api: KubeApi, monkeypatch: pytest.MonkeyPatch, namespace: str
) -> None:
    async def gone(*_: Any, **__: Any) -> AsyncIterator[Event]:
        raise KubeError(410, "Expired", "too old resource version")
        yield

    monkeypatch.setattr(api, "watch", gone)
    told = []
    async for event in api.follow(maps(namespace)):
        told.append(event.type)
        if len(told) == 2:
            break
    assert told == ["SYNCED", "SYNCED"]


@with_api
async def test_following_goes_on_where_the_server_was_away(api: KubeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = iter([KubeError(0, "Unreachable", "away"), {"items": [], "metadata": {"resourceVersion": "1"}}])

    async def listed(path: str, *, labels: str = "", fields: str = "") -> Body:
        answer = next(lists)
        if isinstance(answer, KubeError):
            raise answer
        return answer

    monkeypatch.setattr(api, "list", listed)
    async for event in api.follow("/api/v1/nodes"):
        assert event == Event("SYNCED", {"items": [], "metadata": {"resourceVersion": "1"}})
        break


# A server that ends, falls silent, or isn't the one that is meant

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def against(
    folder: Path, answers: dict[int, bytes], work: Callable[[KubeApi], Awaitable[None]], *, known: bool = True
) -> list[list[str]]:
    """Runs `work` with a server that answers as many requests of each connection as it has answers for, then closes it, or says
    nothing more where the last is empty. What it was asked over each connection."""
    seen: list[list[str]] = []
    pki = Pki(folder / "pki")
    pki.make()
    served, admin = pki.pair("apiserver"), pki.pair("admin")

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append([])
        own, parts = seen[-1], answers[len(seen)].split(b"|")
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            for part in parts:
                own.append((await reader.readuntil(b"\r\n\r\n")).split(b" ")[0].decode())
                writer.write(part)
            await reader.read(1 << 16)
        writer.close()

    async def whole() -> None:
        trust = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        trust.load_cert_chain(str(served.certificate), str(served.key))
        server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=trust)
        authority = pki.authority if known else Path(certifi.where())
        api = KubeApi(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", authority, admin.certificate, admin.key)
        try:
            await asyncio.wait_for(work(api), SECONDS)
        finally:
            await api.close()
            server.close()

    asyncio.run(whole())
    return seen


async def lost(asking: Awaitable[Any]) -> str:
    with pytest.raises(KubeError) as unanswered:
        await asking
    assert unanswered.value.status == 0
    return unanswered.value.message


@pytest.mark.slow
def test_what_may_have_been_done_is_not_asked_again_and_what_may_be_asked_twice_is(tmp_path: Path) -> None:
    async def work(api: KubeApi) -> None:
        await api.get("/a")
        assert await api.get("/a") == {}, "over another connection"
        assert "doesn't answer" in await lost(api.create("/a", {}))

    assert against(tmp_path, {1: OK, 2: OK}, work) == [["GET"], ["GET"]]


@pytest.mark.slow
def test_a_silent_server_and_a_strange_one_are_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked(api: KubeApi) -> None:
        await lost(api.get("/a"))

    monkeypatch.setattr(client, "_ANSWER_SECONDS", 0.2)
    assert against(tmp_path, {1: b""}, asked) == [["GET"]]
    assert against(tmp_path, {1: OK[:-1]}, asked) == [["GET"]], "half of an answer"
    assert against(tmp_path, {1: OK}, asked, known=False) == [], "nobody vouches for it"
