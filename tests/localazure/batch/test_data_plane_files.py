"""Files of tasks and nodes over HTTP."""

from collections.abc import Iterator

import pytest

from tests.localazure.batch.data_plane import Account, code
from tests.localazure.conftest import new_group
from tests.support.embedded import EmbeddedAzure, ServedAzure


@pytest.fixture(scope="module")
def azure(served_azure: ServedAzure) -> ServedAzure:
    return served_azure


SCRIPT = (
    "echo hello; echo err >&2; mkdir deep; printf 0123456789 > deep/numbers.txt; ln -s /etc/passwd out; ln -s deep/numbers.txt in"
)
TASK = "jobs/job/tasks/t/files"


@pytest.fixture(scope="module")
def ran(azure: EmbeddedAzure) -> Iterator[Account]:
    """An account whose task has run and left files."""
    account = Account(azure, new_group(azure))
    account.idle_pool("pool")
    account.add_job("job", "pool")
    account.add_tasks("job", "t", command=f"/bin/bash -c '{SCRIPT}'")
    task = account.completed("job", "t")
    assert task["executionInfo"]["exitCode"] == 0, task
    yield account
    assert account.request("DELETE", "pools/pool").status_code == 202


def test_a_task_s_files_are_listed(ran: Account) -> None:
    top = ran.get(TASK).json()["value"]
    assert [(file["name"], file["isDirectory"]) for file in top] == [("stderr.txt", False), ("stdout.txt", False), ("wd", True)]
    below = {file["name"]: file for file in ran.get(TASK, recursive="true").json()["value"]}
    assert set(below) == {"stderr.txt", "stdout.txt", "wd", "wd/deep", "wd/deep/numbers.txt", "wd/in"}
    numbers = below["wd/deep/numbers.txt"]
    assert numbers["url"] == f"{ran.url}/{TASK}/wd/deep/numbers.txt"
    assert (numbers["properties"]["contentLength"], numbers["properties"]["contentType"]) == ("10", "text/plain")
    assert "properties" not in below["wd"]
    found = ran.get(TASK, recursive="true", **{"$filter": "startswith(name, 'wd/d')"}).json()["value"]
    assert [file["name"] for file in found] == ["wd/deep", "wd/deep/numbers.txt"]
    pages = [ran.get(TASK, maxresults="2").json()]
    pages.append(ran.client.get(pages[0]["odata.nextLink"]).json())
    assert [file["name"] for page in pages for file in page["value"]] == ["stderr.txt", "stdout.txt", "wd"]


def test_a_file_is_read_whole_and_in_part(ran: Account) -> None:
    assert ran.get(f"{TASK}/stdout.txt").text == "hello\n"
    assert ran.get(f"{TASK}/stderr.txt").text == "err\n"
    path = f"{TASK}/wd/deep/numbers.txt"
    for header, content in (
        ("bytes=0-3", "0123"),
        ("bytes=4-", "456789"),
        ("bytes=-2", "89"),
        ("bytes=8-100", "89"),
        ("bytes=0-9", "0123456789"),
    ):
        answer = ran.request("GET", path, headers={"ocp-range": header})
        assert (answer.status_code, answer.text) == (200, content), header
        assert answer.headers["content-length"] == str(len(content))
    for header in ("bytes=10-", "bytes=5-2"):
        answer = ran.request("GET", path, headers={"ocp-range": header})
        assert (answer.status_code, code(answer)) == (416, "InvalidRange"), header
    answer = ran.request("GET", path, headers={"ocp-range": "lines=1-2"})
    assert (answer.status_code, code(answer)) == (400, "InvalidHeaderValue")


def test_a_file_s_properties_are_headers(ran: Account) -> None:
    answer = ran.request("HEAD", f"{TASK}/wd%2Fdeep%2Fnumbers.txt")
    assert answer.status_code == 200
    assert answer.headers["content-length"] == "10"
    assert answer.headers["ocp-batch-file-isdirectory"] == "false"
    assert answer.headers["ocp-batch-file-url"] == f"{ran.url}/{TASK}/wd/deep/numbers.txt"
    assert answer.headers["ocp-batch-file-mode"].startswith("0o100")
    assert answer.headers["ocp-creation-time"]
    assert ran.request("HEAD", f"{TASK}/wd").headers["ocp-batch-file-isdirectory"] == "true"
    assert ran.request("HEAD", f"{TASK}/none").status_code == 404


def test_a_node_s_files_are_those_of_all_its_tasks(ran: Account) -> None:
    task = ran.get("jobs/job/tasks/t").json()
    node = task["nodeInfo"]
    files = f"pools/pool/nodes/{node['nodeId']}/files"
    assert {"shared", "startup", "workitems"} <= {file["name"] for file in ran.get(files).json()["value"]}
    assert ran.get(f"{files}/{node['taskRootDirectory']}/stdout.txt").text == "hello\n"
