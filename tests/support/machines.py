"""Virtual machines on an embedded server, with the network that they need, for tests of what runs on them."""

import base64
import uuid
from typing import Any

import httpx

from tests.support.embedded import EmbeddedAzure, until
from tests.support.ml_resources import done

COMPUTE, NETWORK, SCHEDULES, DISKS = "2024-11-01", "2024-05-01", "2018-09-15", "2024-03-02"
REGION = "westeurope"
T4 = "Standard_NC4as_T4_v3"
KEY = f"ssh-ed25519 {'A' * 68} test"
HPC = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"}
PLAIN = {"publisher": "Canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts-gen2", "version": "latest"}
WINDOWS = {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter-g2", "version": "latest"}


class Network:
    """A virtual network with a subnet, for the machines of one module."""

    def __init__(self, azure: EmbeddedAzure, group: str) -> None:
        self.azure = azure
        self.group = group
        self.id = f"{group}/providers/Microsoft.Network/virtualNetworks/net"
        self.subnet = f"{self.id}/subnets/default"
        space = {"addressSpace": {"addressPrefixes": ["10.1.0.0/16"]}}
        done(azure, azure.put(self.id, {"location": REGION, "properties": space}, NETWORK))
        done(azure, azure.put(self.subnet, {"properties": {"addressPrefix": "10.1.0.0/24"}}, NETWORK))

    def interface(self, **more: Any) -> str:
        path = f"{self.group}/providers/Microsoft.Network/networkInterfaces/nic-{uuid.uuid4().hex[:8]}"
        return done(self.azure, self.azure.put(path, self.interface_body(**more), NETWORK))["id"]

    def interface_body(self, **more: Any) -> dict[str, Any]:
        configuration = {"name": "ip", "properties": {"subnet": {"id": self.subnet}, **more}}
        return {"location": REGION, "properties": {"ipConfigurations": [configuration]}}

    def machine(self, **changes: Any) -> "TestMachine":
        """A machine that runs."""
        return TestMachine(self.azure, done(self.azure, self.try_machine(self.machine_body(**changes)))["id"])

    def try_machine(self, body: dict[str, Any], name: str = "") -> httpx.Response:
        name = name or f"vm{uuid.uuid4().hex[:8]}"
        return self.azure.put(f"{self.group}/providers/Microsoft.Compute/virtualMachines/{name}", body, COMPUTE)

    def machine_body(
        self,
        *,
        size: str = T4,
        image: dict[str, str] | None = None,
        custom_data: str = "",
        identity: dict[str, Any] | None = None,
        interface: str = "",
        **properties: Any,
    ) -> dict[str, Any]:
        image = image or HPC
        profile: dict[str, Any] = {"adminUsername": "azureuser"}
        if image["offer"] == WINDOWS["offer"]:
            profile |= {"adminPassword": "Correct-Horse-7", "computerName": "windows"}
        else:
            keys = [{"path": "/home/azureuser/.ssh/authorized_keys", "keyData": KEY}]
            profile |= {"linuxConfiguration": {"disablePasswordAuthentication": True, "ssh": {"publicKeys": keys}}}
        if custom_data:
            profile["customData"] = base64.b64encode(custom_data.encode()).decode()
        disk = {"createOption": "FromImage", "deleteOption": "Delete"}
        own = {
            "hardwareProfile": {"vmSize": size},
            "storageProfile": {"imageReference": dict(image), "osDisk": disk},
            "osProfile": profile,
            "networkProfile": {"networkInterfaces": [{"id": interface or self.interface()}]},
        }
        body: dict[str, Any] = {"location": REGION, "properties": {**own, **properties}}
        return {**body, **({"identity": identity} if identity else {})}


class TestMachine:
    """One machine, and what is asked of it."""

    __test__ = False

    def __init__(self, azure: EmbeddedAzure, vm_id: str) -> None:
        self.azure = azure
        self.id = vm_id
        self.name = vm_id.rsplit("/", 1)[1]

    def view(self) -> dict[str, Any]:
        return self.azure.get(f"{self.id}/instanceView", COMPUTE).json()

    @property
    def power(self) -> str:
        return next(one["code"].partition("/")[2] for one in self.view()["statuses"] if one["code"].startswith("PowerState"))

    def act(self, action: str, body: Any = None) -> dict[str, Any]:
        """The end of an action's long operation."""
        answer = self.azure.post(f"{self.id}/{action}", COMPUTE, body)
        assert answer.status_code == 202, answer.text
        return self.azure.finished(answer)

    def run(self, *lines: str, parameters: list[dict[str, str]] | None = None) -> str:
        """What `az vm run-command invoke` shows of a script."""
        body = {"commandId": "RunShellScript", "script": list(lines), "parameters": parameters or []}
        ended = self.act("runCommand", body)
        assert ended["status"] == "Succeeded", ended
        return ended["properties"]["output"]["value"][0]["message"]

    def out(self, *lines: str) -> str:
        """What a script prints on its standard output."""
        return self.run(*lines).partition("[stdout]\n")[2].partition("\n[stderr]\n")[0]

    def command(self, name: str, script: str, **properties: Any) -> httpx.Response:
        body = {"location": REGION, "properties": {"source": {"script": script}, **properties}}
        return self.azure.put(f"{self.id}/runCommands/{name}", body, COMPUTE)

    def told(self, name: str) -> dict[str, Any]:
        """instanceView of a managed run command."""
        found = self.azure.get(f"{self.id}/runCommands/{name}", COMPUTE, **{"$expand": "instanceView"})
        return found.json()["properties"]["instanceView"]

    def until_told(self, name: str, state: str) -> dict[str, Any]:
        return until(lambda: (found := self.told(name))["executionState"] == state and found, f"{name} is {state}")

    def extension(self, name: str, publisher: str, kind: str, **properties: Any) -> httpx.Response:
        body = {
            "location": REGION,
            "properties": {"publisher": publisher, "type": kind, "typeHandlerVersion": "1.0", **properties},
        }
        return self.azure.put(f"{self.id}/extensions/{name}", body, COMPUTE)

    def delete(self) -> None:
        answer = self.azure.delete(self.id, COMPUTE)
        assert answer.status_code == 202, answer.text
        assert self.azure.finished(answer)["status"] == "Succeeded"
