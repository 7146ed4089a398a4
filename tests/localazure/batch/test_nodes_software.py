"""What nodes get beyond this machine: application packages, containers from registries, Azure Files shares."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.catalog import roles
from localazure.arm.store import Resource
from localazure.batch.model import PoolKey
from localazure.kinds import storage_accounts
from tests.localazure.batch.world import ACCOUNT, ACCOUNT_ID, World, fixed, in_world, pool_body
from tests.localazure.containers.conftest import write_workload
from tests.localazure.parts import arm_id

pytestmark = pytest.mark.slow

GROUP = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg"
STORAGE_ID = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/store"
REGISTRY_ID = f"{GROUP}/providers/Microsoft.ContainerRegistry/registries/reg"
IDENTITY_ID = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nodes"
APPLICATION_ID = f"{ACCOUNT_ID}/applications/Tool-Kit"
LOGIN = "reg.azurecr.local"
IMAGE = f"{LOGIN}/tool:1"
IDENTITY = {"type": "UserAssigned", "userAssignedIdentities": {IDENTITY_ID: {}}}
BY_IDENTITY = {"registryServer": LOGIN, "identityReference": {"resourceId": IDENTITY_ID}}


def put(world: World, resource_id: str, body: dict[str, Any], **more: Any) -> None:
    world.store.put(Resource(id=arm_id(resource_id), body=body, **more))


# Application packages


def package(world: World, version: str, content: dict[str, str], *, active: bool = True) -> None:
    """A version of the application, uploaded."""
    put(world, ACCOUNT_ID, {"location": "westeurope", "properties": {"autoStorage": {"storageAccountId": STORAGE_ID}}})
    put(world, STORAGE_ID, {"location": "westeurope", "properties": {}})
    put(world, APPLICATION_ID, {"properties": {"defaultVersion": "1.0"}})
    lies = {"container": "app-tool", "name": version}
    state = {"properties": {"state": "Active" if active else "Pending"}}
    put(world, f"{APPLICATION_ID}/versions/{version}", {}, service=state, private={"blob": lies})
    with zipfile.ZipFile(world.container("app-tool") / version, "w") as file:
        for name, text in content.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o755 << 16
            file.writestr(entry, text)


@in_world
async def test_a_pools_package_is_unpacked_before_its_start_task_and_found_by_its_variable(world: World) -> None:
    package(world, "1.0", {"bin/tool": "#!/bin/sh\necho one $1\n"})
    package(world, "2.0", {"bin/tool": "#!/bin/sh\necho two $1\n"})
    start = {"commandLine": "/bin/sh -c '$AZ_BATCH_APP_PACKAGE_Tool_Kit_2_0/bin/tool start'", "waitForSuccess": True}
    references = [{"id": f"{APPLICATION_ID}/versions/2.0"}, {"id": APPLICATION_ID}]
    pool = await world.pool(applicationPackages=references, startTask=start)
    command = (
        "/bin/sh -c '$AZ_BATCH_APP_PACKAGE_Tool_Kit/bin/tool a; $AZ_BATCH_APP_PACKAGE_Tool_Kit_2_0/bin/tool b; "
        "$AZ_BATCH_APP_PACKAGE_tool_kit_2_0/bin/tool c'"
    )
    task = world.task(world.job(pool), "task", command)
    await world.done(task)
    assert world.output(task) == "one a\ntwo b\ntwo c\n"
    root = world.pools.node_folder(pool, world.pools.nodes(pool)[0]["id"])
    assert root is not None
    assert (root / "startup" / "stdout.txt").read_text() == "two start\n"


@in_world
async def test_a_tasks_own_package_comes_before_it_runs(world: World) -> None:
    package(world, "1.0", {"data.txt": "data"})
    references = [{"applicationId": "Tool-Kit", "version": "1.0"}]
    job = world.job(await world.pool())
    command = "/bin/sh -c 'cat $AZ_BATCH_APP_PACKAGE_Tool_Kit_1_0/data.txt'"
    task = world.task(job, "task", command, applicationPackageReferences=references)
    await world.done(task)
    assert world.output(task) == "data"
    other = world.task(job, "other", "/bin/sh -c 'echo [$AZ_BATCH_APP_PACKAGE_Tool_Kit_1_0]'")
    await world.done(other)
    assert world.output(other) == "[]\n"


@pytest.mark.parametrize("broken", ["inactive", "no zip", "no blob"])
@in_world
async def test_a_package_that_cannot_be_had_makes_a_node_unusable_and_fails_a_task(world: World, broken: str) -> None:
    package(world, "1.0", {"x": "y"}, active=broken != "inactive")
    if broken == "no zip":
        (world.container("app-tool") / "1.0").write_text("this is none")
    if broken == "no blob":
        (world.container("app-tool") / "1.0").unlink()
    pool = await world.pool("bad", applicationPackages=[{"id": f"{APPLICATION_ID}/versions/1.0"}], ready=False)
    await world.all_in(pool, "unusable")
    (error,) = world.pools.nodes(pool)[0]["errors"]
    assert error["code"] == "ApplicationPackageError"
    references = [{"applicationId": "Tool-Kit", "version": "1.0"}]
    job = world.job(await world.pool("good"))
    task = world.task(job, "task", "true", applicationPackageReferences=references)
    info = await world.done(task)
    assert info["failureInfo"]["code"] == "ApplicationPackageError"
    assert "exitCode" not in info


# Containers

DOCKERFILE = """FROM debian:12
WORKDIR /app
ENV WHO=image
COPY tool.sh /app/
ENTRYPOINT ["/bin/sh", "/app/tool.sh"]
CMD ["usual"]
"""
TOOL = 'echo "tool $@"\necho "$WHO in $PWD, pool $AZ_BATCH_POOL_ID"\ntest -d "$AZ_BATCH_TASK_WORKING_DIR" && echo there\n'


async def registry(world: World, folder: Path, *, role: str = roles.ACR_PULL) -> None:
    """A registry with an image, and an identity that may pull from it."""
    put(world, REGISTRY_ID, {"properties": {"adminUserEnabled": True}}, private={"passwords": {"password": "secret"}})
    put(world, IDENTITY_ID, {}, service={"properties": {"principalId": "principal", "clientId": "client"}})
    if role:
        definition = f"{GROUP.rsplit('/', 2)[0]}/providers/Microsoft.Authorization/roleDefinitions/{role}"
        assignment = f"{REGISTRY_ID}/providers/Microsoft.Authorization/roleAssignments/{role}"
        put(world, assignment, {"properties": {"principalId": "principal", "roleDefinitionId": definition}})
    context = write_workload(folder / "tool", DOCKERFILE, tool__sh=TOOL)
    await world.services.images.build(context, "Dockerfile", {}, [IMAGE], folder / "build.log")


def in_containers(world_pool: dict[str, Any], **configuration: Any) -> dict[str, Any]:
    machine = world_pool["properties"]["deploymentConfiguration"]["virtualMachineConfiguration"]
    return {"virtualMachineConfiguration": {**machine, "containerConfiguration": {"type": "DockerCompatible", **configuration}}}


async def container_pool(world: World, name: str = "pool", *, ready: bool = True, **configuration: Any) -> PoolKey:
    key = PoolKey(ACCOUNT, name)
    body = pool_body()
    body["properties"]["deploymentConfiguration"] = in_containers(body, **configuration)
    await world.put_pool(name, {**body, "identity": IDENTITY})
    if ready:
        await world.all_in(key, "idle")
    return key


@in_world
async def test_what_the_coordination_command_starts_in_a_container_goes_on_in_it_until_the_task_ends(
    world: World, tmp_path: Path
) -> None:
    await registry(world, tmp_path)
    body = pool_body(scaleSettings=fixed(2), interNodeCommunication="Enabled")
    body["properties"]["deploymentConfiguration"] = in_containers(body, containerRegistries=[BY_IDENTITY])
    await world.put_pool("pool", {**body, "identity": IDENTITY})
    pool = PoolKey(ACCOUNT, "pool")
    await world.all_in(pool, "idle")
    background = "(until [ -e $SAID.go ]; do sleep 0.02; done; cat tool.sh > $SAID.new; mv $SAID.new $SAID.read; sleep 300) &"
    coordination = f"-c '[ $AZ_BATCH_IS_CURRENT_NODE_MASTER = true ] && touch here || {{ {background} }}; hostname -I'"
    application = "-c 'ls here; hostname -I; touch $SAID.go; until [ -e $SAID.read ]; do sleep 0.02; done'"
    options = "--entrypoint /bin/sh --network host"
    task = world.task(
        world.job(pool),
        "task",
        application,
        environmentSettings=[{"name": "SAID", "value": str(tmp_path / "said")}],
        containerSettings={"imageName": IMAGE, "containerRunOptions": options, "workingDirectory": "containerImageDefault"},
        multiInstanceSettings={"numberOfInstances": 2, "coordinationCommandLine": coordination},
    )
    info = await world.done(task)
    assert info["exitCode"] == 0, (world.folder(task) / "stderr.txt").read_text()
    addresses = {node["id"]: node["ipAddress"] for node in world.pools.nodes(pool)}
    first, other = (addresses[each["nodeInfo"]["nodeId"]] for each in world.pools.subtasks(task))
    assert world.output(task) == f"{first}\nhere\n{first}\n", "both commands ran in one container, on a node with this address"
    assert (tmp_path / "said.read").read_text() == TOOL
    for subtask in world.pools.subtasks(task):
        node = subtask["nodeInfo"]["nodeId"]
        root = world.pools.node_folder(pool, node)
        assert root is not None
        assert list((root / "volatile" / "containers").iterdir()) == []
        lines = (root / subtask["nodeInfo"]["taskRootDirectory"] / "stdout.txt").read_text().splitlines()
        assert lines[0] == addresses[node]
    assert first != other


@pytest.mark.parametrize(
    ("command", "settings", "expected"),
    [
        ("", {}, ["tool usual", "image in {wd}, pool pool", "there"]),
        ("--fast 'a b'", {}, ["tool --fast a b", "image in {wd}, pool pool", "there"]),
        ("x", {"workingDirectory": "containerImageDefault"}, ["tool x", "image in {app}, pool pool", "there"]),
        ("-c 'echo $WHO; pwd'", {"containerRunOptions": "--rm --entrypoint /bin/sh -e WHO=user"}, ["user", "{wd}"]),
    ],
    ids=["the image's own command", "arguments", "the image's folder", "another entry point"],
)
@in_world
async def test_a_task_runs_in_a_container_of_a_registry_by_identity(
    world: World, tmp_path: Path, command: str, settings: dict[str, str], expected: list[str]
) -> None:
    await registry(world, tmp_path)
    pool = await container_pool(world, containerRegistries=[BY_IDENTITY])
    task = world.task(world.job(pool), "task", command, containerSettings={"imageName": IMAGE, **settings})
    info = await world.done(task)
    assert info["exitCode"] == 0, (world.folder(task) / "stderr.txt").read_text()
    lines = world.output(task).splitlines()
    assert len(lines) == len(expected)
    wd = str(world.folder(task) / "wd")
    for line, pattern in zip(lines, expected, strict=True):
        start, _, end = pattern.replace("{wd}", wd).partition("{app}")
        assert line.startswith(start)
        assert line.endswith(end)
        assert "{app}" not in pattern or "/root/app" in line
    assert info["containerInfo"]["state"] == "exited"
    root = world.pools.node_folder(pool, world.pools.nodes(pool)[0]["id"])
    assert root is not None
    assert list((root / "volatile" / "containers").iterdir()) == []


@in_world
async def test_an_image_is_pulled_with_a_task_registrys_password(world: World, tmp_path: Path) -> None:
    await registry(world, tmp_path, role="")
    pool = await container_pool(world)
    job = world.job(pool)
    good = {"registryServer": LOGIN, "username": "reg", "password": "secret"}
    task = world.task(job, "good", "", containerSettings={"imageName": IMAGE, "registry": good})
    assert (await world.done(task))["exitCode"] == 0
    bad = world.task(job, "bad", "", containerSettings={"imageName": IMAGE, "registry": {**good, "password": "other"}})
    info = await world.done(bad)
    assert info["failureInfo"]["code"] == "ContainerInvalidImage"
    assert "other" not in str(info)


@pytest.mark.parametrize(
    ("image", "role", "registries", "why"),
    [
        (IMAGE, "", [BY_IDENTITY], "AcrPull"),
        (IMAGE, roles.ACR_PULL, [], "credentials"),
        (f"{LOGIN}/tool:2", roles.ACR_PULL, [BY_IDENTITY], "manifest unknown"),
        ("docker.io/library/nginx", roles.ACR_PULL, [], "reaches no registry"),
    ],
    ids=["no role", "no credentials", "no image", "a registry outside"],
)
@in_world
async def test_an_image_that_cannot_be_pulled_makes_a_node_unusable_and_fails_a_task(
    world: World, tmp_path: Path, image: str, role: str, registries: list[dict[str, Any]], why: str
) -> None:
    await registry(world, tmp_path, role=role)
    bad = await container_pool(world, "bad", ready=False, containerRegistries=registries, containerImageNames=[image])
    await world.all_in(bad, "unusable")
    (error,) = world.pools.nodes(bad)[0]["errors"]
    assert error["code"] == "ContainerInvalidImage"
    assert error["message"] == "One or more container images specified are invalid"
    assert {pair["name"]: pair["value"] for pair in error["errorDetails"]}["ContainerImage"] == image
    assert why in str(error["errorDetails"])
    good = await container_pool(world, "good", containerRegistries=registries)
    task = world.task(world.job(good), "task", "", containerSettings={"imageName": image})
    info = await world.done(task)
    assert info["failureInfo"]["code"] == "ContainerInvalidImage"
    assert why in str(info["failureInfo"]["details"])


@pytest.mark.parametrize(
    ("containers", "options", "why"),
    [
        (False, "", "containerConfiguration"),
        (True, "-v /a:/b", "-v"),
        (True, "--gpus all", "'ContainerSettings', 'value': '--gpus all'}, {'name': 'Message', 'value': 'Some supplied docker"),
        (True, "--rm --gpus all --shm-size=2g", "unsupported: --gpus"),
        (True, "--ipc host --gpus=1", "unsupported: --gpus"),
        (True, "--gpus '\"device=0,1\"' --rm", "unsupported: --gpus"),
        (True, "--entrypoint '", "quotation"),
    ],
)
@in_world
async def test_container_settings_that_cannot_be_are_refused_by_name(
    world: World, tmp_path: Path, containers: bool, options: str, why: str
) -> None:
    await registry(world, tmp_path)
    pool = await container_pool(world, containerRegistries=[BY_IDENTITY]) if containers else await world.pool()
    settings = {"imageName": IMAGE, "containerRunOptions": options}
    info = await world.done(world.task(world.job(pool), "task", "", containerSettings=settings))
    assert info["failureInfo"]["code"] == "ContainerInvalidSettings"
    assert why in str(info["failureInfo"]["details"])


# Mounts


@in_world
async def test_an_azure_files_share_is_mounted_below_the_folder_of_mounts(world: World) -> None:
    put(world, STORAGE_ID, {"properties": {}}, private={"keys": {"key1": {"value": "a2V5"}}})
    share = {
        "accountName": "store",
        "accountKey": "a2V5",
        "azureFileUrl": "https://store.file.core.windows.net/share",
        "relativeMountPath": "data",
    }
    pool = await world.pool(mountConfiguration=[{"azureFileShareConfiguration": share}])
    task = world.task(world.job(pool), "task", "/bin/sh -c 'echo hi > $AZ_BATCH_NODE_MOUNTS_DIR/data/file'")
    assert (await world.done(task))["exitCode"] == 0
    assert (storage_accounts.share_folder(world.services.settings, "store", "share") / "file").read_text() == "hi\n"
    bad = {"azureFileShareConfiguration": {**share, "accountKey": "b3RoZXI="}}
    other = await world.pool("other", mountConfiguration=[bad], ready=False)
    await world.all_in(other, "unusable")
    (error,) = world.pools.nodes(other)[0]["errors"]
    assert error["code"] == "MountConfigurationError"
    assert "b3RoZXI=" not in str(error)


# The way to the account


@pytest.mark.parametrize("group", ["nodeManagement", "batchAccount", ""])
@in_world
async def test_nodes_of_a_closed_account_need_a_name_of_their_endpoint_in_a_zone(world: World, group: str) -> None:
    """By policy only the account's endpoint has one. `group`: of the endpoint that is in a zone; none is if it is empty."""
    put(world, ACCOUNT_ID, {"location": "westeurope", "properties": {"publicNetworkAccess": "Disabled"}})
    for each in ("nodeManagement", "batchAccount"):
        endpoint = f"{GROUP}/providers/Microsoft.Network/privateEndpoints/{each}"
        linked = {"properties": {"privateLinkServiceId": ACCOUNT_ID, "groupIds": [each]}}
        put(world, endpoint, {"location": "westeurope", "properties": {"privateLinkServiceConnections": [linked]}})
        if each == group:
            configs = [{"name": "zone-1", "properties": {"privateDnsZoneId": "/zone"}}]
            put(world, f"{endpoint}/privateDnsZoneGroups/default", {"properties": {"privateDnsZoneConfigs": configs}})
    pool = await world.pool(ready=False)
    await world.until(lambda: set(world.states(pool)) & {"idle", "unusable"}, lambda: f"a node is up: {world.states(pool)}")
    assert world.states(pool) == ["idle" if group == "nodeManagement" else "unusable"]
    if group != "nodeManagement":
        (error,) = world.pools.nodes(pool)[0]["errors"]
        assert error["code"] == "NodeNotReady"
