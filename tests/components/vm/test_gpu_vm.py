"""Resources of a virtual machine, beyond the inputs in the cases."""

import base64
import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest
import yaml

from azure_gpu.catalog.problems import Severity
from azure_gpu.catalog.services.machines import smi
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import VmGeneration
from azure_gpu.formats import azure_types
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from azure_gpu.vm import proof as vm_proof
from azure_gpu.vm.args import GpuVmWiring
from azure_gpu.vm.image import fit_problems
from azure_gpu.vm.resolve import resolve
from azure_gpu.vm.vm import GpuVm
from azure_gpu.vm.workspace_offer import of_workspace
from localazure.shapes import default_api_version, to_arm
from tests.components.recording import PROJECT, STACK, Recorded, Registration, declare, readable
from tests.components.settings_of import STACK_ARGS, args_of
from tests.oracle.arm_types import WITHOUT_TYPES, arm_problems
from tests.support.embedded import until
from tests.support.ssh_keys import PUBLIC_KEY

MACHINE = "azure-native:compute:VirtualMachine"
EXTENSION = "azure-native:compute:VirtualMachineExtension"
RUN_COMMAND = "azure-native:compute:VirtualMachineRunCommandByVirtualMachine"
NETWORK = "azure-native:network:VirtualNetwork"
GROUP = "azure-native:network:NetworkSecurityGroup"
INTERFACE = "azure-native:network:NetworkInterface"
ADDRESS = "azure-native:network:PublicIPAddress"
BASTION = "azure-native:network:BastionHost"
SCHEDULE = "azure-native:devtestlab:GlobalSchedule"
ROLE = "azure-native:authorization:RoleAssignment"
SUBNET = "/subscriptions/a/resourceGroups/b/providers/Microsoft.Network/virtualNetworks/c/subnets/d"
PASSWORD = "Sesame-4-all"
ARGS: GpuVmWiring = {
    "stack": {**STACK_ARGS, "location": "eastus", "as_of": "2026-11-21"},
    "resource_group_name": "group",
    "resource_group": "group",
    "size": "Standard_NC4as_T4_v3",
    "admin": {"ssh_public_key": PUBLIC_KEY},
    "expires_after": "2026-12-31",
}
WINDOWS: dict[str, Any] = {"image": "dsvm", "os_type": "Windows", "admin": {"password": PASSWORD}}


def declared(*, preview: bool = False, **changed: Any) -> Recorded:
    return declare(lambda: GpuVm("trainer", Wired(args_of(GpuVmWiring, ARGS, changed))), preview=preview)


def machine(**changed: Any) -> Registration:
    return declared(**changed).one(MACHINE)


def refused(**changed: Any) -> str:
    with pytest.raises(Refused) as refusal:
        declared(**changed)
    return str(refusal.value)


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_two_machines_in_one_program_share_no_urn_and_no_name(preview: bool) -> None:
    def build() -> None:
        GpuVm("one", Wired(ARGS))
        GpuVm("two", Wired(ARGS))

    recorded = declare(build, preview=preview)
    urns = [registration.urn for registration in recorded.registrations]
    assert len(urns) == len(set(urns))
    for token, key in ((MACHINE, "vmName"), (NETWORK, "virtualNetworkName"), (INTERFACE, "networkInterfaceName")):
        assert len({registration.inputs[key] for registration in recorded.of_type(token)}) == 2


def test_nothing_is_let_in_and_nobody_has_an_address_unless_asked() -> None:
    recorded = declared()
    assert recorded.of_type(ADDRESS) == recorded.of_type(BASTION) == []
    (rule,) = recorded.one(GROUP).inputs["securityRules"]
    assert (rule["access"], rule["direction"], rule["sourceAddressPrefix"], rule["destinationPortRange"]) == (
        "Deny",
        "Inbound",
        "*",
        "*",
    )
    (configuration,) = recorded.one(INTERFACE).inputs["ipConfigurations"]
    assert "publicIPAddress" not in configuration
    assert recorded.one(INTERFACE).inputs["networkSecurityGroup"]["id"] == "/id-of/trainer-security-group"
    (subnet,) = recorded.one(NETWORK).inputs["subnets"]
    assert (subnet["name"], subnet["addressPrefix"], subnet["defaultOutboundAccess"]) == ("machines", "10.71.0.0/24", True)


def test_a_public_address_lets_the_given_ranges_sign_on_and_says_what_it_is() -> None:
    recorded = declared(public_address=True, allowed_ranges=["203.0.113.0/24", "198.51.100.7/32"])
    assert recorded.one(ADDRESS).inputs["sku"] == {"name": "Standard"}
    first, last = recorded.one(GROUP).inputs["securityRules"]
    assert (first["sourceAddressPrefixes"], first["destinationPortRange"]) == (["203.0.113.0/24", "198.51.100.7/32"], "22")
    assert (first["access"], last["access"]) == ("Allow", "Deny")
    assert first["priority"] < last["priority"]


def test_the_service_that_attaches_a_machine_signs_on_by_its_tag_which_azure_takes_in_a_rule_of_its_own_alone() -> None:
    recorded = declared(public_address=True, allowed_ranges=["203.0.113.0/24", "AzureMachineLearning"])
    people, service, last = recorded.one(GROUP).inputs["securityRules"]
    assert (people["sourceAddressPrefix"], service["sourceAddressPrefix"]) == ("203.0.113.0/24", "AzureMachineLearning")
    assert (service["destinationPortRange"], service["access"], last["access"]) == ("22", "Allow", "Deny")
    assert people["priority"] < service["priority"] < last["priority"]


def test_windows_is_reached_at_the_port_of_remote_desktop() -> None:
    recorded = declared(**WINDOWS, public_address=True, allowed_ranges=["203.0.113.0/24"])
    assert recorded.one(GROUP).inputs["securityRules"][0]["destinationPortRange"] == "3389"


def test_a_bastion_has_its_subnet_its_address_and_its_way_in_and_preview_says_that_it_costs() -> None:
    recorded = declared(bastion="basic", preview=True)
    machines, bastion = recorded.one(NETWORK).inputs["subnets"]
    assert (machines["addressPrefix"], bastion["name"]) == ("10.71.0.0/25", "AzureBastionSubnet")
    assert bastion["addressPrefix"] == "10.71.0.128/25"
    rule = recorded.one(GROUP).inputs["securityRules"][0]
    assert (rule["sourceAddressPrefix"], rule["access"]) == ("10.71.0.128/25", "Allow")
    assert recorded.one(BASTION).inputs["sku"] == {"name": "Basic"}
    assert len(recorded.of_type(ADDRESS)) == 1
    assert any("the Bastion costs as long as it exists" in line for line in recorded.log)


def test_the_free_bastion_has_no_address_and_comes_from_azure_itself() -> None:
    recorded = declared(bastion="developer")
    assert recorded.of_type(ADDRESS) == []
    assert recorded.one(BASTION).inputs["sku"] == {"name": "Developer"}
    assert recorded.one(BASTION).inputs["virtualNetwork"] == {"id": "/id-of/trainer-network"}
    assert recorded.one(GROUP).inputs["securityRules"][0]["sourceAddressPrefix"] == "168.63.129.16/32"


def test_in_a_subnet_that_exists_no_network_is_declared_and_the_machine_is_closed_all_the_same() -> None:
    recorded = declared(subnet_id=SUBNET)
    assert recorded.of_type(NETWORK) == []
    assert recorded.one(INTERFACE).inputs["ipConfigurations"][0]["subnet"]["id"] == SUBNET
    assert recorded.one(GROUP).inputs["securityRules"][0]["access"] == "Deny"

    def wired() -> None:
        GpuVm("trainer", Wired({**ARGS, "subnet_id": pulumi.Output.from_input(SUBNET)}))

    assert declare(wired).one(INTERFACE).inputs == recorded.one(INTERFACE).inputs


def test_nobody_signs_on_to_linux_with_a_password_and_the_disk_goes_with_the_machine() -> None:
    inputs = machine().inputs
    linux = inputs["osProfile"]["linuxConfiguration"]
    assert linux["disablePasswordAuthentication"] is True
    assert linux["ssh"]["publicKeys"] == [{"path": "/home/gpu/.ssh/authorized_keys", "keyData": PUBLIC_KEY}]
    assert "adminPassword" not in inputs["osProfile"]
    assert inputs["storageProfile"]["osDisk"]["deleteOption"] == "Delete"
    assert "securityProfile" not in inputs  # ubuntu-hpc is reported to break under Trusted Launch


def test_a_windows_password_is_a_secret_wherever_it_goes() -> None:
    def build() -> None:
        GpuVm("trainer", Wired(args_of(GpuVmWiring, ARGS, WINDOWS, {"admin": {"password": pulumi.Output.secret(PASSWORD)}})))

    for recorded in (declared(**WINDOWS), declare(build)):
        registration = recorded.one(MACHINE)
        assert registration.inputs["osProfile"]["adminPassword"] == PASSWORD
        assert all(PASSWORD not in readable(each.wire) for each in recorded.registrations)
        assert PASSWORD not in json.dumps(list(recorded.outputs.values())) + " ".join(recorded.log)
    assert len(registration.inputs["osProfile"]["computerName"]) <= 15


def test_a_data_science_machine_has_a_virtual_tpm_and_no_secure_boot_its_driver_could_not_load_under() -> None:
    profile = machine(image="dsvm").inputs["securityProfile"]
    assert profile == {"securityType": "TrustedLaunch", "uefiSettings": {"secureBootEnabled": False, "vTpmEnabled": True}}
    assert "securityProfile" not in machine(image="dsvm", security="standard").inputs


def test_the_stacks_identity_speaks_for_the_machine_and_without_one_it_gets_its_own_with_two_roles() -> None:
    identity = "/subscriptions/a/resourceGroups/b/providers/Microsoft.ManagedIdentity/userAssignedIdentities/c"
    recorded = declared(identity_id=identity)
    assert recorded.one(MACHINE).inputs["identity"] == {"type": "UserAssigned", "userAssignedIdentities": [identity]}
    assert recorded.of_type(ROLE) == []
    registry = {"name": "r", "id": "/registry", "server": "r.azurecr.io", "workload_images": {}}
    with_own = declared(registry=registry, storage={"name": "s", "id": "/storage"})
    assert with_own.one(MACHINE).inputs["identity"] == {"type": "SystemAssigned"}
    assert with_own.roles == [
        ("trainer-machine", "AcrPull", "/registry", "GpuVm::trainer"),
        ("trainer-machine", "Storage Blob Data Contributor", "/storage", "GpuVm::trainer"),
    ]
    assert declared(registry=registry, assign_roles=False).of_type(ROLE) == []


def test_the_driver_comes_with_the_image_or_by_the_extension_and_never_twice() -> None:
    assert declared().of_type(EXTENSION) == []
    recorded = declared(size="Standard_NV6ads_A10_v5")  # takes GRID, which ubuntu-hpc doesn't bring
    assert recorded.one(MACHINE).inputs["storageProfile"]["imageReference"]["offer"] == "0001-com-ubuntu-server-jammy"
    extension = recorded.one(EXTENSION)
    assert (extension.inputs["publisher"], extension.inputs["type"]) == ("Microsoft.HpcCompute", "NvidiaGpuDriverLinux")
    assert "tags" not in extension.inputs  # Azure changes no extension of a machine that is deallocated
    assert extension.deleted_with == recorded.one(MACHINE).urn
    assert "conflicts with the extension's" in refused(driver="extension")
    assert "no CUDA driver for Ubuntu 24.04 LTS" in refused(image="Canonical:ubuntu-24_04-lts:server")
    assert declared(driver="none", image="Canonical:ubuntu-24_04-lts:server").of_type(RUN_COMMAND) == []


def test_the_proof_is_told_at_creation_holds_no_secret_and_makes_an_update_fail() -> None:
    recorded = declared(size="Standard_NC64as_T4_v3")  # four of them
    told = base64.b64decode(recorded.one(MACHINE).inputs["osProfile"]["customData"]).decode()
    assert told.startswith("#cloud-config\n")
    (file,) = yaml.safe_load(told)["write_files"]
    assert (file["path"], file["permissions"]) == ("/var/lib/cloud/scripts/per-boot/azure-gpu-driver.sh", "0755")
    assert file["content"].startswith("#!/bin/sh\n")
    assert "-ge 4 ]" in file["content"]
    assert "exit 1" in file["content"]
    proof = recorded.one(RUN_COMMAND)
    assert (proof.inputs["treatFailureAsDeploymentFailure"], proof.inputs["asyncExecution"]) == (True, False)
    assert proof.inputs["source"] == {"script": vm_proof.wait_script()}
    assert declared(prove_driver=False).of_type(RUN_COMMAND) == []
    assert "customData" not in machine(prove_driver=False).inputs["osProfile"]


def test_another_version_of_the_proof_makes_no_new_machine_and_a_proof_that_was_not_told_does() -> None:
    registration = machine()
    assert registration.ignore_changes == ["osProfile.customData"]
    assert registration.replacement_trigger is True
    assert machine(prove_driver=False).replacement_trigger is False
    assert "osProfile" in registration.replace_on_changes
    assert registration.delete_before_replace


def test_azure_itself_deallocates_the_machine_every_evening_under_the_one_name_that_it_takes() -> None:
    recorded = declared()
    schedule = recorded.one(SCHEDULE).inputs
    assert schedule["name"] == f"shutdown-computevm-{recorded.one(MACHINE).inputs['vmName']}"
    assert (schedule["taskType"], schedule["dailyRecurrence"], schedule["timeZoneId"]) == (
        "ComputeVmShutdownTask",
        {"time": "1900"},
        "UTC",
    )
    told = {"time": "06:30", "timezone": "W. Europe Standard Time", "mail_to": "me@example.org"}
    settings = declared(shutdown=told).one(SCHEDULE).inputs
    assert settings["dailyRecurrence"] == {"time": "0630"}
    assert settings["notificationSettings"] == {"status": "Enabled", "emailRecipient": "me@example.org", "timeInMinutes": 30}
    assert declared(shutdown={"enabled": False}).of_type(SCHEDULE) == []


def test_a_spot_machine_keeps_its_disk_when_it_is_taken_away() -> None:
    inputs = machine(spot={"enabled": True}).inputs
    assert (inputs["priority"], inputs["evictionPolicy"], inputs["billingProfile"]) == ("Spot", "Deallocate", {"maxPrice": -1})
    assert "priority" not in machine(spot={"enabled": False}).inputs


def test_what_it_costs_is_said_in_a_preview_and_in_its_outputs() -> None:
    recorded = declared(preview=True)
    assert any("cost without its disk: 0.526 USD/hour" in line for line in recorded.log)
    assert any("while deallocated, with its disk: 0.027 USD/hour" in line for line in recorded.log)
    (outputs,) = [each for each in declared().outputs.values() if "vm_id" in each]
    assert (outputs["hourly_cost"], outputs["idle_cost"]) == (0.526, 0.027)
    assert outputs["expires_at"] == "2027-01-01T00:00:00Z"
    (unknown,) = [each for each in declared(**WINDOWS).outputs.values() if "vm_id" in each]
    assert "hourly_cost" not in unknown or unknown["hourly_cost"] is None  # not known is never free


def test_arm_takes_every_body_of_a_machine() -> None:
    everything: dict[str, Any] = {
        "image": "dsvm",
        "spot": {"max_price": 0.25, "eviction": "delete"},
        "zone": "1",
        "disk": {"size_gb": 256, "type": "StandardSSD_LRS", "encryption_at_host": True},
        "public_address": True,
        "allowed_ranges": ["203.0.113.0/24", "198.51.100.7/32"],
        "bastion": "basic",
        "shutdown": {"mail_to": "me@example.org"},
        "tags": {"cost": "42"},
    }
    seen: set[str] = set()
    problems: list[str] = []
    in_a_subnet: dict[str, Any] = {"size": "Standard_NV6ads_A10_v5", "subnet_id": SUBNET}
    for changed in (everything, in_a_subnet, WINDOWS):
        for registration in declared(**changed).registrations:
            azure_type = azure_types.BY_TOKEN.get(registration.type)
            if azure_type is None or azure_type.arm_type in WITHOUT_TYPES:
                continue
            seen.add(registration.type)
            body = to_arm(azure_type, registration.inputs)
            problems += arm_problems(azure_type.arm_type, default_api_version(azure_type), body)
    assert problems == []
    assert seen == {MACHINE, EXTENSION, NETWORK, GROUP, INTERFACE, ADDRESS}


def test_the_names_that_the_network_takes_are_those_that_are_declared() -> None:
    context, _ = resolve_stack(ARGS["stack"], PROJECT, STACK)
    spec, problems = resolve("trainer", ARGS, context)
    assert [problem for problem in problems if problem.severity is Severity.ERROR] == []
    recorded = declared()
    assert [name for _, name in spec.network_names] == [
        recorded.one(INTERFACE).inputs["networkInterfaceName"],
        recorded.one(GROUP).inputs["networkSecurityGroupName"],
        recorded.one(NETWORK).inputs["virtualNetworkName"],
    ]


def test_an_image_of_another_generation_than_the_size_boots_is_refused() -> None:
    size = SIZES.find("Standard_NC6")
    assert size is not None
    [boots] = size.series.generations
    other = VmGeneration.GEN2 if boots is VmGeneration.GEN1 else VmGeneration.GEN1
    choice: Any = SimpleNamespace(of_gallery={"os_type": OperatingSystem.LINUX, "generation": other}, known=None)
    [problem] = fit_problems({"size": size.name, "gallery_image": "mine", "admin": {}}, choice, size, "vms.trainer")
    assert problem.path == "vms.trainer.gallery_image"
    assert (problem.value, problem.allowed) == ("mine", f"an image of {boots}")
    choice.of_gallery["generation"] = boots
    assert fit_problems({"size": size.name, "gallery_image": "mine", "admin": {}}, choice, size, "vms.trainer") == []


def test_the_script_at_the_start_waits_for_as_many_gpus_as_there_are() -> None:
    one, four = vm_proof.cloud_config(1), vm_proof.cloud_config(4)
    assert "the driver of 1 GPU:" in one
    assert "the driver of 4 GPUs:" in four
    assert "-ge 1 ]" in one
    assert "-ge 4 ]" in four


@pytest.mark.slow
def test_the_script_at_the_start_ends_at_once_and_asks_on_by_itself(tmp_path: Path) -> None:
    """cloud-init must end meanwhile: an agent that waits for it installs the driver only then."""
    (file,) = yaml.safe_load(vm_proof.cloud_config(1))["write_files"]
    script, proof, driver = tmp_path / "script", tmp_path / "proof" / "driver", tmp_path / "nvidia-smi"
    script.write_text(file["content"].replace(smi.PROOF_FILE, str(proof)).replace("sleep 2", "sleep 0.1"))
    script.chmod(0o755)
    driver.write_text("#!/bin/sh\nexit 9\n")
    driver.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run([str(script)], env=environment, capture_output=True, timeout=30, check=True)
    assert proof.read_text() == f"{smi.WAITING}\n"
    loaded = tmp_path / "loaded"
    loaded.write_text("#!/bin/sh\necho 'Tesla T4, 7.5'\n")
    loaded.chmod(0o755)
    loaded.rename(driver)
    until(lambda: proof.read_text() == f"{smi.PROVED}\nTesla T4, 7.5\n", "the proof goes on after the script's end")


def test_windows_boots_securely_where_the_image_brings_the_driver_and_not_where_the_extension_does() -> None:
    context, _ = resolve_stack(ARGS["stack"], PROJECT, STACK)
    version = "/subscriptions/a/resourceGroups/b/providers/Microsoft.Compute/galleries/c/images/d/versions/1.0.0"
    own = {"image_id": version, "os_type": "Windows", "security": "trusted_launch", "admin": {"password": PASSWORD}}
    secure = {
        driver: resolve("trainer", args_of(GpuVmWiring, ARGS, own, {"driver": driver}), context)[0].secure_boot
        for driver in ("image", "extension")
    }
    assert secure == {"image": True, "extension": False}


def test_a_workspace_knows_whether_a_machine_runs_ubuntu() -> None:
    context, _ = resolve_stack(ARGS["stack"], PROJECT, STACK)
    of_image = {
        name: of_workspace(resolve("trainer", args_of(GpuVmWiring, ARGS, changed), context)[0])["ubuntu"]
        for name, changed in {"ubuntu-hpc": {"image": "ubuntu-hpc"}, "dsvm for Windows": WINDOWS}.items()
    }
    assert of_image == {"ubuntu-hpc": True, "dsvm for Windows": False}
