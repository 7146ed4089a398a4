"""Container groups over HTTP: created, looked at, changed, stopped, deleted. The containers are real processes."""

import socket
import uuid
from typing import Any

import httpx
import pytest
from azure.core.exceptions import HttpResponseError
from azure.mgmt.containerinstance import ContainerInstanceManagementClient
from azure.mgmt.containerinstance.models import ContainerGroup

from localazure.process import start_time
from tests.localazure.containers.sdk import GROUP, Groups, container_view, public
from tests.support import management
from tests.support.embedded import EmbeddedAzure, until


def test_a_group_runs_to_its_end_and_shows_state_exit_code_events_and_log(groups: Groups) -> None:
    created = groups.create("one", groups.body(groups.container("say", "hi", "exit", "0")))
    assert created["properties"]["provisioningState"] == "Succeeded"
    ended = groups.wait_for("one", "Succeeded")
    view = container_view(ended)
    assert view["currentState"]["state"] == "Terminated"
    assert view["currentState"]["exitCode"] == 0
    assert view["currentState"]["detailStatus"] == "Completed"
    assert view["restartCount"] == 0
    assert [event["name"] for event in view["events"]] == ["Pulling", "Pulled", "Started"]
    assert view["events"][0]["message"] == f'pulling image "{groups.image}"'
    assert groups.logs("one") == "hi\n"
    assert groups.logs("one", tail="0") == ""
    for tail in ("-1", "many", "9" * 5000):
        refused = groups.azure.get(f"{groups.path('one')}/containers/main/logs", GROUP, tail=tail)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "InvalidParameter")


def test_a_group_whose_container_fails_is_failed(groups: Groups) -> None:
    body = groups.body(groups.container("exit", "0"), groups.container("exit", "7", name="other"))
    groups.create("one", body)
    assert container_view(groups.wait_for("one", "Failed"), 1)["currentState"]["exitCode"] == 7


def test_secrets_reach_the_container_and_no_answer(groups: Groups) -> None:
    variables = [{"name": "PLAIN", "value": "p"}, {"name": "TOKEN", "secureValue": "s3cret"}]
    body = groups.body(groups.container("env", environmentVariables=variables))
    first = groups.azure.put(groups.path("one"), body, GROUP)
    groups.azure.finished(first)
    found = groups.wait_for("one", "Succeeded")
    assert "TOKEN=s3cret" in groups.logs("one").splitlines()
    assert "PLAIN=p" in groups.logs("one").splitlines()
    assert "s3cret" not in first.text
    assert found["properties"]["containers"][0]["properties"]["environmentVariables"] == [variables[0], {"name": "TOKEN"}]
    assert "s3cret" not in groups.azure.get(groups.path("one"), GROUP).text


@pytest.mark.parametrize("what", ["one", "all"])
def test_delete_ends_the_processes(groups: Groups, what: str) -> None:
    groups.create("one", groups.body(groups.container("pid", "wait"), restartPolicy="Always"))
    pid = groups.pid("one")
    if what == "one":
        assert groups.azure.delete(groups.path("one"), GROUP).status_code == 200
        assert groups.azure.delete(groups.path("one"), GROUP).status_code == 204
    else:
        groups.azure.finished(groups.azure.delete(groups.group, "2024-03-01"))
    assert start_time(pid) == ""


# Updates


def test_an_update_restarts_what_changed_and_leaves_the_rest(groups: Groups) -> None:
    other = groups.container("wait", name="other")
    groups.create("one", groups.body(groups.container("pid", "wait"), other))
    before = groups.pid("one")
    other["properties"]["environmentVariables"] = [{"name": "LEVEL", "value": "2"}]
    other["properties"]["command"] = ["python", "main.py", "env", "wait"]
    groups.create("one", {**groups.body(groups.container("pid", "wait"), other), "tags": {"a": "b"}})
    until(lambda: "LEVEL=2" in groups.logs("one", "other"), "the changed container runs")
    assert start_time(before) != ""
    assert groups.logs("one").count("pid ") == 1


def test_a_group_that_has_ended_is_deployed_as_new(groups: Groups) -> None:
    body = groups.body(groups.container("pid", "exit", "0"))
    groups.create("one", body)
    groups.wait_for("one", "Succeeded")
    first = groups.logs("one")
    groups.create("one", body)
    groups.wait_for("one", "Succeeded")
    assert groups.logs("one") != first


def test_the_sdk_creates_reads_logs_stops_starts_restarts_and_deletes(groups: Groups) -> None:
    client: Any = management.client(ContainerInstanceManagementClient, groups.azure)  # its models say None of all that Azure sets
    rg = groups.group.rsplit("/", 1)[-1]
    body = groups.body(groups.container("pid", "lines", "3", "wait"), restartPolicy="Always")
    made = client.container_groups.begin_create_or_update(rg, "one", ContainerGroup.deserialize(body)).result()
    assert made.provisioning_state == "Succeeded"
    until(lambda: client.containers.list_logs(rg, "one", "main").content.endswith("line 2\n"), "the log is there")
    assert client.containers.list_logs(rg, "one", "main", tail=1).content == "line 2\n"
    stamped = client.containers.list_logs(rg, "one", "main", tail=1, timestamps=True).content
    assert stamped.endswith("Z line 2\n")
    first = groups.pid("one")
    client.container_groups.stop(rg, "one")
    assert client.container_groups.get(rg, "one").instance_view.state == "Stopped"
    assert start_time(first) == ""
    client.container_groups.begin_start(rg, "one").result()
    second = groups.pid("one")
    client.container_groups.begin_restart(rg, "one").result()
    until(lambda: start_time(second) == "", "the earlier process is gone")
    assert len({first, second, groups.pid("one")}) == 3
    assert client.container_groups.get(rg, "one").instance_view.state == "Running"
    assert [one.name for one in client.container_groups.list_by_resource_group(rg)] == ["one"]
    client.container_groups.begin_delete(rg, "one").result()
    with pytest.raises(HttpResponseError) as caught:
        client.container_groups.get(rg, "one")
    assert caught.value.status_code == 404


def test_the_yaml_of_the_article_creates_a_group(azure: EmbeddedAzure, group: str) -> None:
    """As the Azure CLI sends it: at 2018-10-01, with a doubled slash; memory as the article's template spells it."""
    groups = Groups(azure, None, group)
    groups.image = "k8s.gcr.io/cuda-vector-add:v0.1"
    body: dict[str, Any] = {**groups.body(groups.container(gpu={"count": 1, "sku": "K80"})), "tags": {"as-of": "2019-06-01"}}
    requests = body["properties"]["containers"][0]["properties"]["resources"]["requests"]
    requests["memoryInGb"] = requests.pop("memoryInGB")
    answer = azure.put(groups.path("one").replace("/containerGroups", "//containerGroups"), body, "2018-10-01")
    assert answer.status_code == 201, answer.text
    azure.finished(answer)
    found = groups.wait_for("one", "Succeeded")
    assert found["properties"]["containers"][0]["properties"]["resources"]["requests"]["memoryInGB"] == 1.5
    assert groups.logs("one") == "nothing asked\n", "it runs as the workload"


# An address


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def test_a_group_with_ports_has_an_address_at_which_it_answers(groups: Groups) -> None:
    port, label = free_port(), f"label-{uuid.uuid4().hex[:8]}"
    serving = groups.shell(f"exec python -m http.server {port} --bind 127.0.0.1", ports=[{"port": port}])
    beside = groups.shell(
        f"until python -c \"import urllib.request as u; u.urlopen('http://localhost:{port}/')\"; do sleep 0.1; done; "
        "echo reached",
        name="beside",
    )
    found = groups.create("one", groups.body(serving, beside, ipAddress=public(port, label=label)))
    address = found["properties"]["ipAddress"]
    assert address["ip"] == "127.0.0.1"
    assert address["fqdn"] == f"{label}.westeurope.azurecontainer.local"
    assert address["autoGeneratedDomainNameLabelScope"] == "Unsecure"
    until(lambda: "reached" in groups.logs("one", "beside"), "the other container reaches it over loopback")
    assert httpx.get(f"http://{address['ip']}:{port}/", trust_env=False).status_code == 200


# Images


def test_an_image_is_pulled_by_digest_too(groups: Groups) -> None:
    run = groups.azure.get(f"{groups.registry.id}/taskRuns/build-one", "2019-06-01-preview").json()["properties"]["runResult"]
    (output,) = run["properties"]["outputImages"]
    groups.image = f"{output['registry']}/{output['repository']}@{output['digest']}"
    groups.create("one", groups.body(groups.container()))
    assert container_view(groups.wait_for("one", "Succeeded"))["currentState"]["exitCode"] == 0
