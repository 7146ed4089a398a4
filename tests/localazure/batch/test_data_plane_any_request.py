"""Whatever is asked of the data plane, the answer is in the service's envelope, and never an error of the server's own."""

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, strategies as st

from localazure.batch.service import models
from tests.localazure.any_body import allowed_by, json_of, many
from tests.localazure.batch.data_plane import MACHINE, VERSION, Account, code
from tests.localazure.conftest import new_group
from tests.support.embedded import EmbeddedAzure

WORDS = (
    "jobs tasks pools nodes files applications supportedimages nodecounts disable enable terminate reactivate taskcounts resize "
    "addtaskcollection subtasksinfo enableautoscale evaluateautoscale disableautoscale updateproperties removenodes stopresize "
    "jobpreparationandreleasetaskstatus reboot reimage disablescheduling jobschedules job task pool none"
)
NAMES = (
    "id value commandLine poolInfo poolId constraints maxTaskRetryCount maxWallClockTime exitConditions exitCodes code "
    "exitOptions dependsOn taskIds taskIdRanges start end requiredSlots multiInstanceSettings numberOfInstances userIdentity "
    "autoUser scope containerSettings imageName environmentSettings name metadata targetDedicatedNodes targetLowPriorityNodes "
    "vmSize startTask virtualMachineConfiguration enableAutoScale autoScaleFormula autoScaleEvaluationInterval resizeTimeout "
    "nodeList disableTasks networkConfiguration mountConfiguration taskSchedulingPolicy "
    "applicationPackageReferences applicationId priority"
)
TEXT = st.sampled_from(
    ["", "job", "task", "pool", "PT5M", "terminatejob", "$TargetDedicatedNodes=1;", "1", "a/b", "..", "x" * 70, "é\u2028"]
)
JSON = json_of(NAMES.split(), TEXT | st.text(max_size=4), most_leaves=14)
SEGMENT = st.sampled_from(WORDS.split()) | TEXT | st.text(max_size=6)
PATHS = st.lists(SEGMENT, min_size=0, max_size=7)
QUERIES = st.dictionaries(
    st.sampled_from(["$filter", "$select", "$expand", "maxresults", "$skiptoken", "recursive", "timeOut", "api-version"]),
    st.sampled_from(
        ["", "1", "-1", "state eq 'active'", "startswith(id,'a'", "id", "%", "true", VERSION, "AAAA", "é", "executionInfo/x/y"]
    )
    | st.text(max_size=8),
    max_size=3,
)
HEADERS = st.dictionaries(
    st.sampled_from(["If-Match", "ocp-range", "client-request-id"]),
    st.sampled_from(
        ["*", '"x"', "bytes=0-", "bytes=-", "Sat, 21 Nov 2026 00:00:00 GMT", "Sat, 99 Nov 2026 00:00:00 GMT", "0", "W/"]
    ),
    max_size=2,
)
JOB = {"id": "made", "poolInfo": {"poolId": "pool"}}
TASK = {"id": "made", "commandLine": "/bin/true"}


NUMBERS = st.integers(-2, 4) | st.sampled_from([2**31, 2**64, 10**30, 1.0, "2", 0])


@pytest.fixture(scope="module")
def busy(azure: EmbeddedAzure) -> Account:
    """An account with something of each sort."""
    account = Account(azure, new_group(azure))
    account.add_pool("pool", 0)
    account.add_job("job", "pool")
    account.add_tasks("job", "task")
    return account


def ask(account: Account, method: str, segments: list[str], body: Any, query: dict[str, str], headers: dict[str, str]) -> None:
    path = "/".join(quote(each, safe="").replace(".", "%2E") for each in segments)  # a client takes `..` out of a path
    answer = account.request(method, path, body, params=query, headers=headers)
    if answer.is_success:
        return
    assert answer.status_code < 500 or answer.status_code == 501, (method, segments, body, answer.text)
    assert method == "HEAD" or code(answer), answer.text


@many(150)
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "HEAD", "OPTIONS"]),
    path=PATHS,
    body=JSON,
    query=QUERIES,
    headers=HEADERS,
)
@example(method="GET", path=["\n0"], body=None, query={}, headers={})
@example(method="HEAD", path=["jobs", "\r\n"], body=None, query={}, headers={})
def test_no_path_upsets_the_server(
    busy: Account, method: str, path: list[str], body: Any, query: dict[str, str], headers: dict[str, str]
) -> None:
    ask(busy, method, path, body, query, headers)


@many(150)
@given(
    path=st.sampled_from(
        [
            ["jobs", "job"],
            ["jobs", "job", "tasks"],
            ["jobs", "job", "tasks", "task"],
            ["jobs", "job", "tasks", "task", "files"],
            ["jobs", "job", "tasks", "task", "subtasksinfo"],
            ["jobs", "job", "jobpreparationandreleasetaskstatus"],
            ["pools", "pool"],
            ["pools", "pool", "nodes"],
            ["pools"],
            ["jobs"],
            ["nodecounts"],
            ["supportedimages"],
        ]
    ),
    query=QUERIES,
    headers=HEADERS,
)
def test_no_question_upsets_the_server(busy: Account, path: list[str], query: dict[str, str], headers: dict[str, str]) -> None:
    ask(busy, "GET", path, None, query, headers)


@pytest.mark.parametrize(
    ("method", "path", "under"),
    [
        ("POST", ["jobs"], JOB),
        ("PATCH", ["jobs", "job"], {}),
        ("PUT", ["jobs", "job"], {}),
        ("POST", ["jobs", "job", "tasks"], TASK),
        ("POST", ["jobs", "job", "addtaskcollection"], {}),
        ("POST", ["pools"], {"id": "made", "vmSize": "Standard_D2s_v3", "virtualMachineConfiguration": MACHINE}),
        ("PATCH", ["pools", "pool"], {}),
        ("POST", ["pools", "pool", "updateproperties"], {"applicationPackageReferences": [], "metadata": []}),
        ("POST", ["pools", "pool", "enableautoscale"], {}),
        ("POST", ["pools", "pool", "evaluateautoscale"], {}),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, list) else "",
)
@many(40)
@given(body=st.dictionaries(st.sampled_from(NAMES.split()), JSON, max_size=5))
@example(body={"value": [None]})
def test_no_body_upsets_the_server(
    busy: Account, method: str, path: list[str], under: dict[str, Any], body: dict[str, Any]
) -> None:
    ask(busy, method, path, {**under, **body, **({"id": under["id"]} if "id" in under else {})}, {}, {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "path", "model"),
    [
        ("POST", ["jobs"], "BatchJobCreateOptions"),
        ("PATCH", ["jobs", "job"], "BatchJobUpdateOptions"),
        ("PUT", ["jobs", "job"], "BatchJob"),
        ("POST", ["jobs", "job", "tasks"], "BatchTaskCreateOptions"),
        ("POST", ["pools"], "BatchPoolCreateOptions"),
        ("PATCH", ["pools", "pool"], "BatchPoolUpdateOptions"),
        ("POST", ["pools", "pool", "updateproperties"], "BatchPoolReplaceOptions"),
        ("POST", ["pools", "pool", "resize"], "BatchPoolResizeOptions"),
        ("POST", ["pools", "pool", "enableautoscale"], "BatchPoolEnableAutoScaleOptions"),
        ("POST", ["pools", "pool", "evaluateautoscale"], "BatchPoolEvaluateAutoScaleOptions"),
    ],
    ids=lambda each: each if isinstance(each, str) and each.startswith("Batch") else "",
)
@many(60)
@given(data=st.data())
def test_no_body_of_the_right_shape_upsets_the_server(
    busy: Account, method: str, path: list[str], model: str, data: st.DataObject
) -> None:
    body = data.draw(allowed_by(models.shape(model), TEXT, NUMBERS, NUMBERS, JSON))
    if model == "BatchPoolCreateOptions":
        body |= {"id": "made", "virtualMachineConfiguration": MACHINE, "vmSize": "Standard_D2s_v3", "targetDedicatedNodes": 0}
        body = {name: each for name, each in body.items() if "AutoScale" not in name and name != "targetLowPriorityNodes"}
    if model == "BatchPoolResizeOptions":
        body = {"targetDedicatedNodes": 0} | {name: each for name, each in body.items() if not name.startswith("target")}
    ask(busy, method, path, body, {}, {})
