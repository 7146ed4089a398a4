"""The client of our own: requests, refusals, watches, and following what is while the server comes and goes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from localazure.kubernetes.client import Event, KubeApi, KubeError
from tests.localazure.coroutines import in_a_loop, within
from tests.support.kubernetes import ControlPlane

Body = dict[str, Any]
SECONDS = 30


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
async def test_a_dry_run_leaves_nothing(api: KubeApi, namespace: str) -> None:
    await api.create(maps(namespace), config_map("dry", a="1"), dry_run=True)
    assert await api.find(maps(namespace, "dry")) is None


@with_api
async def test_two_who_apply_the_same_field_conflict_unless_one_forces(api: KubeApi, namespace: str) -> None:
    path = maps(namespace, "applied")
    await api.apply(path, config_map("applied", a="1"), field_manager="first")
    with pytest.raises(KubeError) as refused:
        await api.apply(path, config_map("applied", a="2"), field_manager="second", force=False)
    assert (refused.value.status, refused.value.reason) == (409, "Conflict")
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


@in_a_loop
async def test_a_server_that_does_not_answer_is_told_apart_from_one_that_refuses(control_plane: ControlPlane) -> None:
    pki = Path(control_plane.folder) / "pki"
    nobody = KubeApi("https://127.0.0.1:9", pki / "ca.crt", pki / "admin.crt", pki / "admin.key")
    assert not await nobody.ready()
    with pytest.raises(KubeError) as silent:
        await nobody.get("/version")
    assert silent.value.status == 0
    assert "https://127.0.0.1:9 doesn't answer" in silent.value.message
    await nobody.close()


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
