"""The embedded Azure answers requests of our own as the tables of recorded answers have it: status, headers, codes, members."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import httpx
import pytest

from tests.localazure.conftest import new_group
from tests.recorded import facts
from tests.recorded.lives import Lives, Until, settle
from tests.recorded.requests import BATCH_CALLS, CLUSTER_LIVES, LIVES, Life
from tests.recorded.sessions import error_code
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure, ServedAzure, until
from tests.support.in_process import InProcessAzure
from tests.support.managed_clusters import ArmHarness

UNKNOWN_VERSION = ("NoRegisteredProviderFound", "InvalidResourceType", "InvalidApiVersionParameter")
METHODS = {"read": "GET", "delete": "DELETE"}
OF_RESOURCES = ("Microsoft.Insights/diagnosticSettings", "Microsoft.KubernetesConfiguration/extensions")
# Answers tell of containers that have started: where nothing runs there are none.
RUNNING = "Microsoft.ContainerInstance/containerGroups"
STILL = [each for each in LIVES if each.arm_type != RUNNING]


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    return facts.read()


def lived_in(azure: EmbeddedAzure, until: Until, table: dict[str, Any], lives: Sequence[Life]) -> dict[str, list[str]]:
    words = {"unique": f"r{uuid.uuid4().hex[:12]}", "tenant": azure.tenant_id, "principal": azure.principal_id}
    made = Lives(azure.client.request, until, table, words)
    made.live(lives)
    return made.differences


@pytest.fixture(scope="module")
def lived(azure: InProcessAzure, table: dict[str, Any]) -> dict[str, list[str]]:
    return lived_in(azure, azure.until, table, STILL)


@pytest.fixture(scope="module")
def clusters_lived(table: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[str]]]:
    arm = ArmHarness(tmp_path_factory.mktemp("clusters"))

    def send(method: str, url: str, /, *, params: Mapping[str, str] | None = None, json: Any = None) -> httpx.Response:
        return arm.run(arm.client.request(method, url, params=params, json=json))

    def looking(true: Callable[[], Any], what: str) -> None:
        assert any(true() for _ in range(1000)), what  # each look lets the harness go on

    lives = Lives(send, looking, table, {"unique": "lab"})
    lives.live(CLUSTER_LIVES)
    yield lives.differences
    arm.close()


@pytest.mark.parametrize("life", STILL, ids=lambda each: each.arm_type)
def test_a_type_answers_as_recorded(life: Life, lived: dict[str, list[str]]) -> None:
    assert lived[life.arm_type] == []


@pytest.mark.slow
def test_what_runs_answers_as_recorded(served_azure: ServedAzure, table: dict[str, Any]) -> None:
    lives = [each for each in LIVES if each.arm_type in ("Microsoft.Resources/resourceGroups", RUNNING)]
    assert lived_in(served_azure, until, table, lives)[RUNNING] == []


@pytest.mark.parametrize("life", CLUSTER_LIVES, ids=lambda each: each.arm_type)
def test_a_type_of_clusters_answers_as_recorded(life: Life, clusters_lived: dict[str, list[str]]) -> None:
    assert clusters_lived[life.arm_type] == []


def test_what_lies_in_no_resource_group_is_refused_as_recorded(azure: EmbeddedAzure, table: dict[str, Any]) -> None:
    recorded: dict[tuple[str, str, str], set[tuple[int, str]]] = {}
    for arm_type, known in table.items():
        for form in known["answers"]:
            if form.get("when") == facts.NO_GROUP and form["operation"] in METHODS:
                for version in form["versions"]:
                    recorded.setdefault((arm_type, form["operation"], version), set()).add((form["status"], form["code"]))
    differences: list[str] = []
    for (arm_type, operation, version), expected in recorded.items():
        answer = azure.client.request(METHODS[operation], _in_no_group(arm_type), params={"api-version": version})
        given = (answer.status_code, error_code(answer.json()) if answer.content else "")
        if given not in expected:
            differences.append(f"{operation} {arm_type} {version}: answered {given}, recorded {sorted(expected)}")
    assert recorded
    assert differences == []


def test_every_recorded_api_version_is_served(azure: EmbeddedAzure, table: dict[str, Any]) -> None:
    versions = {(each, version) for each, known in table.items() for form in known["answers"] for version in form["versions"]}
    refused = [
        f"{arm_type} {version}"
        for arm_type, version in sorted(versions)
        if arm_type != facts.DATA_PLANE
        and error_code(azure.client.get(_in_no_group(arm_type), params={"api-version": version}).json()) in UNKNOWN_VERSION
    ]
    assert refused == []


def _in_no_group(arm_type: str) -> str:
    namespace, *steps = arm_type.split("/")
    names = "/".join(f"{step}/x" for step in steps)
    scope = "/providers/Microsoft.ContainerService/managedClusters/x" if arm_type in OF_RESOURCES else ""
    return f"/subscriptions/{SUBSCRIPTION}/resourceGroups/nowhere{scope}/providers/{namespace}/{names}"


@pytest.mark.slow  # jobs are only where nodes run
def test_the_data_plane_of_batch_answers_as_recorded(served_azure: ServedAzure, table: dict[str, Any]) -> None:
    azure, group = served_azure, new_group(served_azure)
    name = f"r{uuid.uuid4().hex[:12]}"
    made = azure.put(f"{group}/providers/Microsoft.Batch/batchAccounts/{name}", {"location": "westeurope"}, "2024-07-01")
    settle(azure.client.request, until, made)
    recorded: dict[str, set[tuple[int, str]]] = {}
    for form in table[facts.DATA_PLANE]["answers"]:
        recorded.setdefault(form["operation"], set()).add((form["status"], form.get("code", "")))
    token = azure.token("https://batch.core.windows.net/.default")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json; odata=minimalmetadata"}
    differences: list[str] = []
    with azure.http(headers=headers) as client:
        for call in BATCH_CALLS:
            sent = client.build_request(
                call.method,
                f"/batch/{name}/{call.path}",
                params={"api-version": "2024-07-01.20.0"},
                json=call.body,
                headers=call.headers,
            )
            answer = client.send(sent)
            operation = f"{call.method.lower()} {facts.pattern(call.path.split('/'))}"
            code = error_code(answer.json()) or "" if answer.status_code >= 400 else ""
            known = {form for form in recorded[operation] if form[1] == call.code}
            if (answer.status_code, code) not in known:
                differences.append(f"{operation}: answered {answer.status_code} {code}, recorded {sorted(known)}")
    assert differences == []
