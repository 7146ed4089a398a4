"""The embedded Azure answers requests of our own as the tables of recorded answers have it: status, headers, codes, members."""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from tests.recorded import facts
from tests.recorded.lives import Lives
from tests.recorded.requests import CLUSTER_LIVES, LIVES, Life
from tests.support.embedded import EmbeddedAzure
from tests.support.managed_clusters import InProcessArm


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    return facts.read()


@pytest.fixture(scope="module")
def lived(azure: EmbeddedAzure, table: dict[str, Any]) -> dict[str, list[str]]:
    words = {"unique": f"r{uuid.uuid4().hex[:12]}", "tenant": azure.tenant_id, "principal": azure.principal_id}
    lives = Lives(azure.client.request, table, words)
    lives.live(LIVES)
    return lives.differences


@pytest.fixture(scope="module")
def clusters_lived(table: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[str]]]:
    arm = InProcessArm(tmp_path_factory.mktemp("clusters"))

    def send(method: str, url: str, /, *, params: Mapping[str, str] | None = None, json: Any = None) -> httpx.Response:
        return arm.run(arm.client.request(method, url, params=params, json=json))

    lives = Lives(send, table, {"unique": "lab"})
    lives.live(CLUSTER_LIVES)
    yield lives.differences
    arm.close()


@pytest.mark.parametrize("life", LIVES, ids=lambda each: each.arm_type)
def test_a_type_answers_as_recorded(life: Life, lived: dict[str, list[str]]) -> None:
    assert lived[life.arm_type] == []


@pytest.mark.parametrize("life", CLUSTER_LIVES, ids=lambda each: each.arm_type)
def test_a_type_of_clusters_answers_as_recorded(life: Life, clusters_lived: dict[str, list[str]]) -> None:
    assert clusters_lived[life.arm_type] == []
