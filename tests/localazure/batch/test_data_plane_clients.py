"""Azure's own clients drive a job to its output: azure-batch 15.1 by key and by token."""

import time
from typing import Any

import pytest
from azure.batch import BatchClient, models
from azure.core import MatchConditions
from azure.core.credentials import AccessToken, AzureNamedKeyCredential
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.core.pipeline.transport import RequestsTransport

from tests.localazure.batch.data_plane import Account
from tests.support.embedded import ServedAzure, until


@pytest.fixture(scope="module")
def azure(served_azure: ServedAzure) -> ServedAzure:
    return served_azure


OFTEN: Any = 0.1  # seconds between two looks; the client takes a part of one, though its types ask for whole ones


class Credential:
    """Gets tokens as azure-identity does, for whom the client asks."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self.scopes: set[str] = set()

    def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        self.scopes |= set(scopes)
        return AccessToken(self._account.azure.token(scopes[0]), int(time.time()) + 3000)


def client_of(account: Account, credential: Any) -> BatchClient:
    transport = RequestsTransport(**account.azure.sdk_options())
    return BatchClient(account.url, credential, transport=transport)


def by_key(account: Account) -> BatchClient:
    return client_of(account, AzureNamedKeyCredential(account.name, account.keys["secondary"]))


def pool(name: str, **given: Any) -> models.BatchPoolCreateOptions:
    image = models.BatchVmImageReference(publisher="microsoft-dsvm", offer="ubuntu-hpc", sku="2204", version="latest")
    machine = models.VirtualMachineConfiguration(image_reference=image, node_agent_sku_id="batch.node.ubuntu 22.04")
    return models.BatchPoolCreateOptions(id=name, vm_size="Standard_D2s_v3", virtual_machine_configuration=machine, **given)


def task(name: str, command: str, **given: Any) -> models.BatchTaskCreateOptions:
    return models.BatchTaskCreateOptions(id=name, command_line=command, **given)


@pytest.mark.parametrize("way", ["key", "token"])
def test_azure_batch_15_drives_a_job_to_its_output(account: Account, way: str) -> None:
    credential = Credential(account)
    client = by_key(account) if way == "key" else client_of(account, credential)
    client.create_pool(pool("new", target_dedicated_nodes=1, task_slots_per_node=4))
    assert client.pool_exists("new")
    with pytest.raises(ResourceNotFoundError):  # the client's own answer to a 404, at this version
        client.pool_exists("none")
    client.create_job(
        models.BatchJobCreateOptions(id="new", pool_info=models.BatchPoolInfo(pool_id="new"), uses_task_dependencies=True)
    )
    created = client.create_tasks("new", [task(f"t{number:03}", f"/bin/bash -c 'echo {number}'") for number in range(150)])
    assert created.result_values is not None
    assert {each.status for each in created.result_values} == {models.BatchTaskAddStatus.SUCCESS}
    depends = models.BatchTaskDependencies(task_ids=["t000"], task_id_ranges=[])
    client.create_task("new", task("last", "/bin/bash -c 'exit 3'", depends_on=depends))
    until(lambda: client.get_job_task_counts("new").task_counts.completed == 151, "all tasks have completed")
    counts = client.get_job_task_counts("new").task_counts
    assert (counts.succeeded, counts.failed) == (150, 1)
    last = client.get_task("new", "last")
    assert last.execution_info is not None
    assert last.execution_info.failure_info is not None
    assert last.constraints is not None
    assert last.node_info is not None
    assert (last.state, last.execution_info.exit_code) == (models.BatchTaskState.COMPLETED, 3)
    assert last.execution_info.result == models.BatchTaskExecutionResult.FAILURE
    assert last.execution_info.failure_info.code == "FailureExitCode"
    assert last.constraints.max_task_retry_count == 0
    assert last.node_info.pool_id == "new"
    listed = list(client.list_tasks("new", filter="state eq 'completed'", select=["id", "state"], max_results=40))
    assert len(listed) == 151
    assert {file.name for file in client.list_task_files("new", "t007", recursive=True)} == {"stdout.txt", "stderr.txt", "wd"}
    assert b"".join(client.download_task_file("new", "t007", "stdout.txt")) == b"7\n"
    assert b"".join(client.download_task_file("new", "t149", "stdout.txt", ocp_range="bytes=1-2")) == b"49"
    properties = client.get_task_file_properties("new", "t149", "stdout.txt")
    assert (properties.content_length, properties.is_directory) == (4, False)
    client.begin_terminate_job("new", {"terminateReason": "done"}, polling_interval=OFTEN).wait()
    assert client.get_job("new").state == models.BatchJobState.COMPLETED
    client.begin_delete_job("new", polling_interval=OFTEN).wait()
    client.begin_delete_pool("new", polling_interval=OFTEN).wait()
    assert list(client.list_jobs()) == []
    assert list(client.list_pools()) == []
    if way == "token":
        assert credential.scopes == {"https://batch.core.windows.net//.default"}


def test_refusals_reach_the_client_as_its_own_exceptions(account: Account) -> None:
    client = by_key(account)
    with pytest.raises(ResourceNotFoundError) as missing:
        client.get_job("none")
    assert missing.value.error is not None
    assert missing.value.error.code == "JobNotFound"
    client.create_job(models.BatchJobCreateOptions(id="job", pool_info=models.BatchPoolInfo(pool_id="none")))
    with pytest.raises(ResourceExistsError) as there:
        client.create_job(models.BatchJobCreateOptions(id="job", pool_info=models.BatchPoolInfo(pool_id="none")))
    assert there.value.error is not None
    assert there.value.error.code == "JobExists"
    with pytest.raises(HttpResponseError) as wrong:
        client.create_job(models.BatchJobCreateOptions(id="j", pool_info=models.BatchPoolInfo(pool_id="none"), priority=5000))
    assert wrong.value.error is not None
    assert [detail.code for detail in wrong.value.error.details][:1] == ["PropertyName"]
    job = client.get_job("job")
    client.update_job("job", models.BatchJobUpdateOptions(priority=3))
    with pytest.raises(ResourceModifiedError):
        client.update_job(
            "job", models.BatchJobUpdateOptions(priority=4), etag=job["eTag"], match_condition=MatchConditions.IfNotModified
        )
    with pytest.raises(ClientAuthenticationError):
        client_of(
            account, type("Other", (), {"get_token": lambda *_, **__: AccessToken("x.y.z", int(time.time()) + 99)})()
        ).get_job("job")


def test_a_bad_task_among_many_is_told_and_ends_no_client_in_a_loop(account: Account) -> None:
    client = by_key(account)
    client.create_job(models.BatchJobCreateOptions(id="job", pool_info=models.BatchPoolInfo(pool_id="none")))
    tasks = [task("good", "/bin/true"), task("bad id", "/bin/true"), task("many", "/bin/true", required_slots=1000)]
    with pytest.raises(models.CreateTasksError) as caught:
        client.create_tasks("job", tasks)
    assert {failed.task_id for failed in caught.value.failure_tasks} == {"bad id", "many"}
    assert [each.id for each in client.list_tasks("job")] == ["good"]


def test_tasks_over_the_limit_of_a_request_are_sent_in_smaller_ones(account: Account) -> None:
    client = by_key(account)
    client.create_job(models.BatchJobCreateOptions(id="job", pool_info=models.BatchPoolInfo(pool_id="none")))
    tasks = [task(f"t{number:02}", "/bin/echo " + "x" * 30_000) for number in range(90)]  # 2.7 MB in one request
    client.create_tasks("job", tasks)
    assert len(list(client.list_tasks("job", select=["id"]))) == 90
