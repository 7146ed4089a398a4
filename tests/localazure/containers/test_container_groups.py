"""Container groups over HTTP: created, looked at, changed, stopped, deleted. The containers are real processes."""

import os
import signal
import socket
import uuid
from typing import Any

import httpx
import pytest
from azure.core.exceptions import HttpResponseError
from azure.mgmt.containerinstance import ContainerInstanceManagementClient
from azure.mgmt.containerinstance.models import ContainerGroup

from localazure.process import start_time
from tests.localazure.conftest import new_group
from tests.localazure.containers.sdk import (
    GROUP,
    Registry,
    container,
    container_view,
    create,
    gpu_group,
    group_body,
    group_path,
    group_state,
    logs,
    public,
    shell,
    show,
    wait_for,
    wait_for_pid,
)
from tests.support import management
from tests.support.embedded import EmbeddedAzure, ServedAzure, until


@pytest.fixture
def azure(running_azure: ServedAzure) -> ServedAzure:
    return running_azure


@pytest.fixture
def registry(running_registry: Registry) -> Registry:
    return running_registry


def test_a_group_runs_to_its_end_and_shows_state_exit_code_events_and_log(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    created = create(azure, group, "one", group_body(registry, container(hello_reference, "say", "hi", "exit", "0")))
    assert created["properties"]["provisioningState"] == "Succeeded"
    ended = wait_for(azure, group, "one", "Succeeded")
    view = container_view(ended)
    assert view["currentState"]["state"] == "Terminated"
    assert view["currentState"]["exitCode"] == 0
    assert view["currentState"]["detailStatus"] == "Completed"
    assert view["restartCount"] == 0
    assert [event["name"] for event in view["events"]] == ["Pulling", "Pulled", "Started"]
    assert view["events"][0]["message"] == f'pulling image "{hello_reference}"'
    assert logs(azure, group, "one") == "hi\n"
    assert logs(azure, group, "one", tail="0") == ""
    for tail in ("-1", "many", "9" * 5000):
        refused = azure.get(f"{group_path(group, 'one')}/containers/main/logs", GROUP, tail=tail)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "InvalidParameter")


def test_a_group_whose_container_fails_is_failed(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    body = group_body(registry, container(hello_reference, "exit", "0"), container(hello_reference, "exit", "7", name="other"))
    create(azure, group, "one", body)
    assert container_view(wait_for(azure, group, "one", "Failed"), 1)["currentState"]["exitCode"] == 7


def test_secrets_reach_the_container_and_no_answer(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    variables = [{"name": "PLAIN", "value": "p"}, {"name": "TOKEN", "secureValue": "s3cret"}]
    body = group_body(registry, container(hello_reference, "env", environmentVariables=variables))
    first = azure.put(group_path(group, "one"), body, GROUP)
    azure.finished(first)
    found = wait_for(azure, group, "one", "Succeeded")
    assert "TOKEN=s3cret" in logs(azure, group, "one").splitlines()
    assert "PLAIN=p" in logs(azure, group, "one").splitlines()
    assert "s3cret" not in first.text
    assert found["properties"]["containers"][0]["properties"]["environmentVariables"] == [variables[0], {"name": "TOKEN"}]
    assert "s3cret" not in azure.get(group_path(group, "one"), GROUP).text


def test_stop_start_and_restart(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str) -> None:
    create(azure, group, "one", group_body(registry, container(hello_reference, "pid", "wait"), restartPolicy="Always"))
    first = wait_for_pid(azure, group, "one")
    path = group_path(group, "one")
    assert azure.post(f"{path}/stop", GROUP).status_code == 204
    assert group_state(show(azure, group, "one")) == "Stopped"
    assert start_time(first) == ""
    started = azure.post(f"{path}/start", GROUP)
    assert started.status_code == 202
    assert azure.finished(started)["status"] == "Succeeded"
    second = wait_for_pid(azure, group, "one")
    assert azure.post(f"{path}/restart", GROUP).status_code == 204
    until(lambda: start_time(second) == "", "the earlier process is gone")
    third = wait_for_pid(azure, group, "one")
    assert len({first, second, third}) == 3
    assert group_state(show(azure, group, "one")) == "Running"


def test_delete_ends_the_processes(azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str) -> None:
    create(azure, group, "one", group_body(registry, container(hello_reference, "pid", "wait"), restartPolicy="Always"))
    pid = wait_for_pid(azure, group, "one")
    assert azure.delete(group_path(group, "one"), GROUP).status_code == 200
    assert start_time(pid) == ""
    assert azure.get(group_path(group, "one"), GROUP).status_code == 404
    assert azure.delete(group_path(group, "one"), GROUP).status_code == 204


def test_deleting_the_resource_group_ends_the_processes(azure: EmbeddedAzure, registry: Registry, hello_reference: str) -> None:
    group = new_group(azure)
    create(azure, group, "one", group_body(registry, container(hello_reference, "pid", "wait")))
    pid = wait_for_pid(azure, group, "one")
    azure.finished(azure.delete(group, "2024-03-01"))
    assert start_time(pid) == ""


# Updates


def test_an_update_restarts_what_changed_and_leaves_the_rest(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    other = container(hello_reference, "wait", name="other")
    create(azure, group, "one", group_body(registry, container(hello_reference, "pid", "wait"), other))
    before = wait_for_pid(azure, group, "one")
    other["properties"]["environmentVariables"] = [{"name": "LEVEL", "value": "2"}]
    other["properties"]["command"] = ["python", "main.py", "env", "wait"]
    create(azure, group, "one", {**group_body(registry, container(hello_reference, "pid", "wait"), other), "tags": {"a": "b"}})
    until(lambda: "LEVEL=2" in logs(azure, group, "one", "other"), "the changed container runs")
    assert start_time(before) != ""
    assert logs(azure, group, "one").count("pid ") == 1


def test_a_group_that_has_ended_is_deployed_as_new(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    body = group_body(registry, container(hello_reference, "pid", "exit", "0"))
    create(azure, group, "one", body)
    wait_for(azure, group, "one", "Succeeded")
    first = logs(azure, group, "one")
    create(azure, group, "one", body)
    wait_for(azure, group, "one", "Succeeded")
    assert logs(azure, group, "one") != first


def test_a_container_whose_process_is_killed_is_restarted(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    create(azure, group, "one", group_body(registry, container(hello_reference, "pid", "wait"), restartPolicy="OnFailure"))
    os.kill(wait_for_pid(azure, group, "one"), signal.SIGKILL)
    view = until(lambda: (one := container_view(show(azure, group, "one")))["restartCount"] == 1 and one, "it was restarted")
    assert view["previousState"]["exitCode"] == 137


def test_the_sdk_creates_reads_logs_stops_starts_restarts_and_deletes(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    client: Any = management.client(ContainerInstanceManagementClient, azure)  # its models say None of all that Azure sets
    rg = group.rsplit("/", 1)[-1]
    body = group_body(registry, container(hello_reference, "lines", "3", "wait"))
    made = client.container_groups.begin_create_or_update(rg, "one", ContainerGroup.deserialize(body)).result()
    assert made.provisioning_state == "Succeeded"
    until(lambda: client.containers.list_logs(rg, "one", "main").content.endswith("line 2\n"), "the log is there")
    assert client.containers.list_logs(rg, "one", "main", tail=1).content == "line 2\n"
    stamped = client.containers.list_logs(rg, "one", "main", tail=1, timestamps=True).content
    assert stamped.endswith("Z line 2\n")
    client.container_groups.stop(rg, "one")
    assert client.container_groups.get(rg, "one").instance_view.state == "Stopped"
    client.container_groups.begin_start(rg, "one").result()
    client.container_groups.begin_restart(rg, "one").result()
    assert client.container_groups.get(rg, "one").instance_view.state == "Running"
    assert [one.name for one in client.container_groups.list_by_resource_group(rg)] == ["one"]
    client.container_groups.begin_delete(rg, "one").result()
    with pytest.raises(HttpResponseError) as caught:
        client.container_groups.get(rg, "one")
    assert caught.value.status_code == 404


def test_the_yaml_of_the_article_creates_a_group(azure: EmbeddedAzure, group: str) -> None:
    """As the Azure CLI sends it: at 2018-10-01, with a doubled slash; memory as the article's template spells it."""
    body = gpu_group("K80", restartPolicy="OnFailure")
    requests = body["properties"]["containers"][0]["properties"]["resources"]["requests"]
    requests["memoryInGb"] = requests.pop("memoryInGB")
    path = group_path(group, "gpucontainergroup").replace("/containerGroups", "//containerGroups")
    answer = azure.put(path, body, "2018-10-01")
    assert answer.status_code == 201, answer.text
    azure.finished(answer)
    found = wait_for(azure, group, "gpucontainergroup", "Succeeded")
    assert found["properties"]["containers"][0]["properties"]["resources"]["requests"]["memoryInGB"] == 1.5


# An address


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def test_a_group_with_ports_has_an_address_at_which_it_answers(
    azure: EmbeddedAzure, registry: Registry, group: str, hello_reference: str
) -> None:
    port, label = free_port(), f"label-{uuid.uuid4().hex[:8]}"
    serving = shell(hello_reference, f"exec python -m http.server {port} --bind 127.0.0.1", ports=[{"port": port}])
    beside = shell(
        hello_reference,
        f"until python -c \"import urllib.request as u; u.urlopen('http://localhost:{port}/')\"; do sleep 0.1; done; "
        "echo reached",
        name="beside",
    )
    found = create(azure, group, "one", group_body(registry, serving, beside, ipAddress=public(port, label=label)))
    address = found["properties"]["ipAddress"]
    assert address["ip"] == "127.0.0.1"
    assert address["fqdn"] == f"{label}.westeurope.azurecontainer.local"
    assert address["autoGeneratedDomainNameLabelScope"] == "Unsecure"
    until(lambda: "reached" in logs(azure, group, "one", "beside"), "the other container reaches it over loopback")
    assert httpx.get(f"http://{address['ip']}:{port}/", trust_env=False).status_code == 200


# Images


def test_an_image_is_pulled_by_digest_too(azure: EmbeddedAzure, registry: Registry, group: str) -> None:
    run = azure.get(f"{registry.id}/taskRuns/build-one", "2019-06-01-preview").json()["properties"]["runResult"]["properties"]
    output = run["outputImages"][0]
    image = f"{output['registry']}/{output['repository']}@{output['digest']}"
    create(azure, group, "one", group_body(registry, container(image)))
    assert container_view(wait_for(azure, group, "one", "Succeeded"))["currentState"]["exitCode"] == 0


@pytest.mark.parametrize("image", ["k8s-gcrio.azureedge.net/cuda-vector-add:v0.1", "k8s.gcr.io/cuda-vector-add:v0.1"])
def test_an_image_of_the_article_runs_as_the_workload(azure: EmbeddedAzure, group: str, image: str) -> None:
    create(azure, group, "one", group_body(None, container(image)))
    wait_for(azure, group, "one", "Succeeded")
    assert logs(azure, group, "one") == "nothing asked\n"
