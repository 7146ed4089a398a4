"""What a container group is made of beside its containers: init containers, probes, limits, zones, priority."""

import uuid
from typing import Any

from azure.mgmt.containerinstance import ContainerInstanceManagementClient
from azure.mgmt.containerinstance.models import ContainerGroup, Resource

from tests.localazure.containers.sdk import GROUP, Groups, container_view, group_state, mounted, public
from tests.support import management
from tests.support.embedded import until

# Init containers


def test_init_containers_run_first_and_show_how_they_ended(groups: Groups) -> None:
    volumes = [{"name": "shared", "emptyDir": {}}]
    body = groups.body(
        groups.shell("cat /mnt/shared/said", volumeMounts=mounted("shared", "/mnt/shared")),
        initContainers=[
            groups.init("sleep 0.5; echo one >> /mnt/shared/said", volumeMounts=mounted("shared", "/mnt/shared")),
            groups.init("echo two >> /mnt/shared/said", "second", volumeMounts=mounted("shared", "/mnt/shared/")),
        ],
        volumes=volumes,
    )
    answer = groups.azure.put(groups.path("one"), body, GROUP)
    assert answer.status_code == 201
    until(lambda: group_state(groups.show("one")) == "Pending", "it waits for its init containers")
    assert groups.azure.finished(answer)["status"] == "Succeeded"
    ended = groups.wait_for("one", "Succeeded")
    assert groups.logs("one") == "one\ntwo\n"
    views = [one["properties"]["instanceView"] for one in ended["properties"]["initContainers"]]
    assert [view["currentState"]["exitCode"] for view in views] == [0, 0]
    assert [event["name"] for event in views[0]["events"]] == ["Pulling", "Pulled", "Started"]


def test_an_init_container_that_fails_for_good_fails_the_deployment(groups: Groups) -> None:
    body = groups.body(groups.container("say", "ran"), initContainers=[groups.init("exit 4")])
    ended = groups.azure.finished(groups.azure.put(groups.path("one"), body, GROUP))
    assert (ended["status"], ended["error"]["code"]) == ("Failed", "ResourceOperationFailure")
    found = groups.show("one")
    assert (found["properties"]["provisioningState"], group_state(found)) == ("Failed", "Failed")
    assert found["properties"]["initContainers"][0]["properties"]["instanceView"]["currentState"]["exitCode"] == 4
    assert container_view(found)["currentState"]["state"] == "Waiting"
    assert groups.logs("one") == ""


def test_a_changed_init_container_starts_the_group_from_its_beginning(groups: Groups) -> None:
    def body(said: str) -> dict[str, Any]:
        return groups.body(groups.container("pid", "wait"), initContainers=[groups.init(f"echo {said}")])

    groups.create("one", body("a"))
    first = until(lambda: groups.logs("one"), "it says its process id")
    groups.create("one", body("b"))
    until(lambda: groups.logs("one") not in ("", first), "it was started anew")
    assert groups.logs("one", "first") == "b\n"


def test_a_diagnostic_setting_restarts_the_group_once(groups: Groups) -> None:
    workspace = f"{groups.group}/providers/Microsoft.OperationalInsights/workspaces/logs"
    groups.azure.put(workspace, {"location": "westeurope"}, "2023-09-01").raise_for_status()
    body = groups.body(groups.shell("echo began; exec sleep 600"))
    groups.create("one", body)
    setting = f"{groups.path('one')}/providers/Microsoft.Insights/diagnosticSettings/logs"
    logs_to = [{"category": each, "enabled": True} for each in ("ContainerInstanceLog", "ContainerEvent")]

    def began() -> str:
        return container_view(groups.show("one"))["currentState"]["startTime"]

    def put(categories: list[dict[str, Any]]) -> int:
        wanted = {"properties": {"workspaceId": workspace, "logs": categories}}
        return groups.azure.put(setting, wanted, "2021-05-01-preview").status_code

    first = began()
    assert put(logs_to) == 200
    second = began()
    assert second > first
    assert put(logs_to) == 200
    assert began() == second
    groups.azure.post(f"{groups.path('one')}/stop", GROUP).raise_for_status()
    assert put(logs_to[:1]) == 200
    assert group_state(groups.show("one")) == "Stopped"
    assert put([{"category": "ServiceLog", "enabled": True}]) == 400


# Through Microsoft's SDK


def test_the_sdk_creates_a_whole_group_and_changes_its_tags(groups: Groups) -> None:
    client: Any = management.client(ContainerInstanceManagementClient, groups.azure)  # its models say None of all that Azure sets
    rg = groups.group.rsplit("/", 1)[-1]
    label = f"label-{uuid.uuid4().hex[:8]}"
    mounts = mounted("shared", "/mnt/shared")
    body = groups.body(
        groups.shell("cat /mnt/shared/said", volumeMounts=mounts, ports=[{"port": 8080}]),
        initContainers=[groups.init("echo hi > /mnt/shared/said", volumeMounts=mounts)],
        volumes=[{"name": "shared", "emptyDir": {}}],
        ipAddress=public(8080, label=label),
    )
    made = client.container_groups.begin_create_or_update(rg, "one", ContainerGroup.deserialize(body)).result()
    assert made.ip_address.fqdn == f"{label}.westeurope.azurecontainer.local"
    assert made.init_containers[0].instance_view.current_state.exit_code == 0
    until(lambda: client.container_groups.get(rg, "one").instance_view.state == "Succeeded", "it ends")
    before = client.containers.list_logs(rg, "one", "main", timestamps=True).content
    changed = client.container_groups.update(rg, "one", Resource(location="westeurope", tags={"team": "vision"}))
    assert changed.tags == {"team": "vision"}
    assert client.container_groups.get(rg, "one").tags == {"team": "vision"}
    assert client.containers.list_logs(rg, "one", "main", timestamps=True).content == before  # nothing ran because of it
    names = {usage.name.value: usage for usage in client.location.list_usage("westeurope")}
    assert names["ContainerGroups"].current_value >= 1
    assert names["StandardCores"].limit == 100
    sizes = {(one.ip_address_type, one.gpu): one.capabilities for one in client.location.list_capabilities("westeurope")}
    assert sizes["Public", "None"].max_cpu == 31
    assert list(client.location.list_cached_images("westeurope")) == []
