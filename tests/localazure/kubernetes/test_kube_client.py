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


def config_map(name: str) -> Body:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


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
async def test_following_goes_on_where_the_server_was_away_and_where_what_it_knows_is_too_long_ago(
    api: KubeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_of_it = {"items": [], "metadata": {"resourceVersion": "1"}}
    lists = iter([KubeError(0, "Unreachable", "away"), all_of_it, all_of_it])

    async def listed(path: str, *, fields: str = "") -> Body:
        answer = next(lists)
        if isinstance(answer, KubeError):
            raise answer
        return answer

    async def gone(*_: Any, **__: Any) -> AsyncIterator[Event]:
        raise KubeError(410, "Expired", "too old resource version")
        yield

    monkeypatch.setattr(api, "list", listed)
    monkeypatch.setattr(api, "watch", gone)
    following = api.follow("/api/v1/nodes")
    assert [await anext(following) for _ in range(2)] == [Event("SYNCED", all_of_it)] * 2


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
