"""Resources of a virtual machine, beyond the inputs in the cases."""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest
import yaml

from azure_gpu.catalog import roles
from azure_gpu.catalog.services.machines import smi
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.shared.context import RegistryArgs, resolve_stack
from azure_gpu.shared.wired import Wired
from azure_gpu.vm import proof as vm_proof
from azure_gpu.vm.args import GpuVmWiring
from azure_gpu.vm.image import fit_problems
from azure_gpu.vm.resolve import resolve
from azure_gpu.vm.spec import of_workspace
from azure_gpu.vm.vm import GpuVm
from tests.components.recording import PROJECT, STACK, Recorded, Registration, declare, readable
from tests.components.settings_of import STACK_ARGS, args_of
from tests.support.embedded import until
from tests.support.patience import SECONDS
from tests.support.ssh_keys import PUBLIC_KEY

MACHINE = "azure-native:compute:VirtualMachine"
ROLE = "azure-native:authorization:RoleAssignment"
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


def test_a_windows_password_is_a_secret_wherever_it_goes() -> None:
    def build() -> None:
        GpuVm("trainer", Wired(args_of(GpuVmWiring, ARGS, WINDOWS, {"admin": {"password": pulumi.Output.secret(PASSWORD)}})))

    for recorded in (declared(**WINDOWS), declare(build)):
        registration = recorded.one(MACHINE)
        assert registration.inputs["osProfile"]["adminPassword"] == PASSWORD
        assert all(PASSWORD not in readable(each.wire) for each in recorded.registrations)
        assert PASSWORD not in json.dumps(list(recorded.outputs.values())) + " ".join(recorded.log)
    assert len(registration.inputs["osProfile"]["computerName"]) <= 15


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


def test_an_image_of_another_generation_than_the_size_boots_is_refused() -> None:
    size = SIZES.find("Standard_NC6")
    assert size is not None
    [boots] = size.series.generations
    other = "Gen2" if boots == "Gen1" else "Gen1"
    choice: Any = SimpleNamespace(of_gallery={"os_type": "Linux", "generation": other}, known=None)
    [problem] = fit_problems({"size": size.name, "gallery_image": "mine", "admin": {}}, choice, size, "vms.trainer")
    assert problem.path == "vms.trainer.gallery_image"
    assert (problem.value, problem.allowed) == ("mine", f"an image of {boots}")
    choice.of_gallery["generation"] = boots
    assert fit_problems({"size": size.name, "gallery_image": "mine", "admin": {}}, choice, size, "vms.trainer") == []


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
    subprocess.run([str(script)], env=environment, capture_output=True, timeout=SECONDS, check=True)
    assert proof.read_text() == f"{smi.WAITING}\n"
    loaded = tmp_path / "loaded"
    loaded.write_text("#!/bin/sh\necho 'Tesla T4, 7.5'\n")
    loaded.chmod(0o755)
    loaded.rename(driver)
    until(lambda: proof.read_text() == f"{smi.PROVED}\nTesla T4, 7.5\n", "the proof goes on after the script's end")


def test_a_workspace_knows_whether_a_machine_runs_ubuntu() -> None:
    context, _ = resolve_stack(ARGS["stack"], PROJECT, STACK)
    of_image = {
        name: of_workspace(resolve("trainer", args_of(GpuVmWiring, ARGS, changed), context)[0])["ubuntu"]
        for name, changed in {"ubuntu-hpc": {"image": "ubuntu-hpc"}, "dsvm for Windows": WINDOWS}.items()
    }
    assert of_image == {"ubuntu-hpc": True, "dsvm for Windows": False}


def test_the_names_that_the_network_takes_are_those_that_are_declared() -> None:
    context, _ = resolve_stack(ARGS["stack"], PROJECT, STACK)
    spec, _ = resolve("trainer", ARGS, context)
    named = {str(value) for each in declared().registrations for key, value in each.inputs.items() if key.endswith("Name")}
    assert len(spec.network_names) == 3
    assert {name for _, name in spec.network_names} <= named


def test_an_identity_of_its_own_gets_the_role_for_pulling_that_the_registry_honours() -> None:
    registry: RegistryArgs = {"name": "images", "id": "/id-of/images", "server": "s", "workload_images": {}}
    for more, role in (({}, "AcrPull"), ({"pull_role": roles.REPOSITORY_READER}, "Container Registry Repository Reader")):
        assert [each.role for each in declared(registry={**registry, **more}).roles] == [role]
