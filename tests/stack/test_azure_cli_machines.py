"""`az vm`: a machine with its network, scripts that really run on it, its power, extensions and shutdown, as its users have
them."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.azure_cli import AzureCli

pytestmark = pytest.mark.slow
IMAGE = "microsoft-dsvm:ubuntu-hpc:2204:latest"
SIZE = "Standard_NC4as_T4_v3"


@pytest.fixture(scope="module")
def group(az: AzureCli) -> Iterator[str]:
    with az.group("westeurope", "as-of=2026-11-21") as name:
        yield name


@pytest.fixture(scope="module")
def machine(az: AzureCli, group: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The options that name a machine, whose first start has written a file."""
    config = tmp_path_factory.mktemp("cloud") / "init.txt"
    config.write_text("#cloud-config\nruncmd:\n- echo started > /opt/started\n")
    name = f"gpu{uuid.uuid4().hex[:6]}"
    made = create(az, group, name, config)
    assert made["powerState"] == "VM running"
    assert made["publicIpAddress"].startswith("203.0.113.")
    return ("--resource-group", group, "--name", name)


def create(az: AzureCli, group: str, name: str, config: Path) -> dict[str, str]:
    key = rsa.generate_private_key(65537, 2048).public_key()
    public = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    here = ("--resource-group", group, "--name", name, "--image", IMAGE, "--size", SIZE, "--security-type", "Standard")
    signing = ("--admin-username", "azureuser", "--ssh-key-values", public, "--assign-identity", "[system]")
    return az.answer("vm", "create", *here, *signing, "--custom-data", str(config), "--nsg-rule", "NONE")


def test_a_script_runs_on_the_machine_and_its_output_is_shown(az: AzureCli, machine: tuple[str, ...]) -> None:
    script = ("--command-id", "RunShellScript", "--scripts", "cloud-init status --wait; cat /opt/started; nvidia-smi -L")
    (shown,) = az.answer("vm", "run-command", "invoke", *machine, *script)["value"]
    assert "[stdout]\nstatus: done\nstarted\nGPU 0: Tesla T4 (UUID: GPU-" in shown["message"]


def test_a_managed_run_command_is_made_shown_listed_and_deleted(az: AzureCli, machine: tuple[str, ...]) -> None:
    group, name = machine[1], machine[3]
    here = ("--resource-group", group, "--vm-name", name)
    az.answer("vm", "run-command", "create", *here, "--name", "one", "--script", "echo managed")
    shown = az.answer("vm", "run-command", "show", *here, "--name", "one", "--instance-view")["instanceView"]
    assert (shown["executionState"], shown["output"]) == ("Succeeded", "managed\n")
    assert [one["name"] for one in az.answer("vm", "run-command", "list", *here)] == ["one"]
    az.answer("vm", "run-command", "delete", *here, "--name", "one", "--yes")
    assert az.answer("vm", "run-command", "list", *here) == []


def test_an_extension_is_set_and_listed_and_the_shutdown_too(az: AzureCli, machine: tuple[str, ...]) -> None:
    here = ("--resource-group", machine[1], "--vm-name", machine[3])
    publisher = ("--publisher", "Microsoft.HpcCompute", "--name", "NvidiaGpuDriverLinux")
    az.answer("vm", "extension", "set", *here, *publisher)
    found = az.answer("vm", "extension", "list", *here)
    assert [(one["name"], one["provisioningState"]) for one in found] == [("NvidiaGpuDriverLinux", "Succeeded")]
    made = az.answer("vm", "auto-shutdown", *machine, "--time", "1900")
    assert (made["dailyRecurrence"]["time"], made["taskType"]) == ("1900", "ComputeVmShutdownTask")


def test_power_size_and_deletion(az: AzureCli, machine: tuple[str, ...]) -> None:
    def power() -> str:
        return az.answer("vm", "show", *machine, "--show-details")["powerState"]

    az.answer("vm", "deallocate", *machine)
    assert power() == "VM deallocated"
    code, words = az.refusal("vm", "run-command", "invoke", *machine, "--command-id", "RunShellScript", "--scripts", "true")
    assert code == 1
    assert "(OperationNotAllowed)" in words
    az.answer("vm", "resize", *machine, "--size", "Standard_NC8as_T4_v3")
    az.answer("vm", "start", *machine)
    view = az.answer("vm", "get-instance-view", *machine)
    assert view["instanceView"]["statuses"][1]["code"] == "PowerState/running"
    assert view["hardwareProfile"]["vmSize"] == "Standard_NC8as_T4_v3"
    az.answer("vm", "restart", *machine)
    az.answer("vm", "stop", *machine)
    assert power() == "VM stopped"
    assert [one["name"] for one in az.answer("vm", "list", "--resource-group", machine[1])] == [machine[3]]
    az.answer("vm", "delete", *machine, "--yes")
    assert az.answer("vm", "list", "--resource-group", machine[1]) == []
    code, words = az.refusal("vm", "show", *machine)
    assert code == 3
    assert "(ResourceNotFound)" in words
