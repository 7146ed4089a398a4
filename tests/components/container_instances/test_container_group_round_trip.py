"""A container group of a file, imported and declared: what is sent to Azure is what the file says, but for what was told."""

import base64
import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

from azure_gpu.catalog import regions
from azure_gpu.container_instances.args import ContainerGroupWiring
from azure_gpu.container_instances.group import ContainerGroup
from azure_gpu.formats.container_group_file import GroupInFile, read
from azure_gpu.formats.container_group_settings import settings_of
from azure_gpu.formats.stack_file import SECRET
from azure_gpu.shared.wired import Wired
from tests.components.recording import SUBSCRIPTION, declare
from tests.components.settings_of import STACK_ARGS
from tests.support.container_group_files import EXPORTED_2018, FILES

GROUP = "azure-native:containerinstance:ContainerGroup"
GIVEN = "what was typed in"
SUBNET = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/r/providers/Microsoft.Network/virtualNetworks/v/subnets/s"
GROUPS = [(file, index) for file, text in FILES.items() for index in range(len(read(text, file)[0]))]


@pytest.mark.parametrize(("file", "index"), GROUPS)
def test_what_is_declared_is_what_the_file_says(file: str, index: int) -> None:
    group = read(FILES[file], file)[0][index]
    said, left, secrets = settings_of(group)
    inputs = declared(with_secrets(said, secrets), group)
    expected = as_inputs(group.body, [one.path for one in left])
    assert inputs.pop("containerGroupName") == expected.pop("name")
    assert inputs.pop("location") == regions.normalise(expected.pop("location", "")) or "location" not in group.body
    assert expected.pop("tags", {}).items() <= inputs.pop("tags").items()
    del inputs["resourceGroupName"]
    if any(one.path == "properties.networkProfile" for one in left):  # the message asks for the subnet in its place
        assert inputs.pop("subnetIds") == [{"id": SUBNET}]
    assert by_name(inputs) == by_name(expected)


@pytest.mark.parametrize(("file", "index"), GROUPS)
def test_a_stack_file_that_names_the_file_declares_the_same(
    file: str, index: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = read(FILES[file], file)[0][index]
    said, _, secrets = settings_of(group)
    (tmp_path / file).write_text(FILES[file], encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # the engine runs the program in the project's folder
    own = with_secrets({"file": file, "group_name": group.name}, secrets)
    location = {} if "location" in group.body else {"location": said.get("location", "eastus")}
    assert declared({**own, **location}, group) == declared({**with_secrets(said, secrets), **location}, group)


def test_an_order_of_its_own_is_kept() -> None:
    text = EXPORTED_2018.replace("  containers:\n", "  initContainers:\n  - {name: z, properties: {image: 'a:1'}}\n"
                                 "  - {name: b, properties: {image: 'a:1'}}\n  containers:\n", 1)  # fmt: skip
    (group,), _ = read(text, "f.yaml")
    said, _, secrets = settings_of(group)
    inputs = declared(json.loads(json.dumps(with_secrets(said, secrets), sort_keys=True)), group)  # as the engine keeps it
    assert [one["name"] for one in inputs["initContainers"]] == ["z", "b"]


def declared(said: dict[str, Any], group: GroupInFile) -> dict[str, Any]:
    """The inputs of the group, at a day on which its GPUs were sold."""
    args: dict[str, Any] = {"stack": STACK_ARGS, "resource_group_name": "group", **said}
    if '"gpu"' in json.dumps(group.body):
        args |= {"as_of": "2019-06-01", "expires_after": "2019-06-30", "location": group.body.get("location", "eastus")}
    if "networkProfile" in group.body["properties"]:
        args["subnet_id"] = SUBNET
    return declare(lambda: ContainerGroup("train", Wired(cast(ContainerGroupWiring, args)))).one(GROUP).inputs


def with_secrets(said: dict[str, Any], secrets: list[str]) -> dict[str, Any]:
    """What `pulumi config set --secret --path` makes of it, for each secret."""
    result: dict[str, Any] = json.loads(json.dumps(said))
    for secret in secrets:
        steps = [
            word or quoted or int(number)
            for word, number, quoted in re.findall(r'([A-Za-z_][\w-]*)|\[(\d+)\]|\["([^"]+)"\]', secret)
        ]
        at: Any = result
        for step, following in zip(steps, [*steps[1:], ""], strict=True):
            if following == "":
                at[step] = GIVEN
            elif isinstance(step, int):
                at.extend({} for _ in range(step + 1 - len(at)))
                at = at[step]
            else:
                at = at.setdefault(step, [] if isinstance(following, int) else {})
    return result


def as_inputs(body: dict[str, Any], left: list[str]) -> dict[str, Any]:
    """A body as the provider takes it, without what is left out, with Azure's own defaults."""
    kept = without(body, "", left)
    whole = {**{key: kept[key] for key in ("name", "location", "tags", "identity") if key in kept}, **kept["properties"]}
    whole.setdefault("restartPolicy", "Always")
    if whole.get("sku") == "Standard":
        del whole["sku"]
    for kind in ("containers", "initContainers"):
        if kind in whole:
            whole[kind] = [{"name": one["name"], **one["properties"]} for one in whole[kind]]
    for container in whole["containers"]:
        for port in container.get("ports", []):
            port.setdefault("protocol", "TCP")
        if container.get("ports") == []:
            del container["ports"]
    for one in [*whole["containers"], *whole.get("initContainers", [])]:
        for variable in one.get("environmentVariables", []):
            if "value" not in variable:  # a secret, whether the file has it or not
                variable["secureValue"] = GIVEN
    for registry in whole.get("imageRegistryCredentials", []):
        registry["password"] = GIVEN
    for volume in whole.get("volumes", []):
        for name in volume.get("secret", {}):
            volume["secret"][name] = base64.b64encode(GIVEN.encode()).decode()
    if "ipAddress" in whole:
        whole["ipAddress"].setdefault("autoGeneratedDomainNameLabelScope", "Unsecure")
        for port in whole["ipAddress"]["ports"]:
            port.setdefault("protocol", "TCP")
    return whole


def without(value: Any, path: str, left: list[str]) -> Any:
    if isinstance(value, dict):
        inner = {key: f"{path}.{key}" if path else key for key in value}
        return {key: without(one, inner[key], left) for key, one in value.items() if inner[key] not in left}
    if isinstance(value, list):
        return [without(one, f"{path}[{index}]", left) for index, one in enumerate(value)]
    return GIVEN if value == SECRET else value


def by_name(value: Any, key: str = "") -> Any:
    """Variables, mounts and volumes by name, as their order says nothing; that of containers does."""
    if isinstance(value, dict):
        return {name: by_name(one, name) for name, one in value.items()}
    if isinstance(value, list):
        every = [by_name(one) for one in value]
        return {one["name"]: one for one in every} if key in ("environmentVariables", "volumeMounts", "volumes") else every
    return value
