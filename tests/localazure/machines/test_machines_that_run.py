"""Virtual machines that run: cloud-init, scripts, power, extensions, containers and identities, each seen on the machine."""

import asyncio
import base64
import json
import subprocess
from typing import Any

import pytest

from azure_gpu.catalog import roles
from localazure import kinds  # noqa: F401 - machines and kinds need each other, and kinds come first
from localazure.machines.containers import Docker, DockerError
from tests.localazure.conftest import new_group
from tests.localazure.containers.sdk import Registry
from tests.support import ml_resources as ml
from tests.support.embedded import ServedAzure, until
from tests.support.machines import COMPUTE, PLAIN, WINDOWS, Network, TestMachine

CLOUD_CONFIG = """#cloud-config
users: [default]
packages: [cowsay]
write_files:
- path: /var/lib/cloud/scripts/per-boot/driver.sh
  permissions: '0755'
  content: |
    #!/bin/sh
    mkdir -p /var/lib/proof
    nvidia-smi --query-gpu=name --format=csv,noheader >> /var/lib/proof/driver
- path: /etc/proof.conf
  content: proved
runcmd:
- [sh, -c, 'echo "run once as $(whoami) $0" > /opt/once']
- cat /etc/proof.conf > /opt/conf
"""


@pytest.fixture(scope="module")
def network(served_azure: ServedAzure) -> Network:
    return Network(served_azure, new_group(served_azure))


@pytest.fixture(scope="module")
def machine(network: Network) -> TestMachine:
    """A machine with a T4 whose first start did what cloud-init was asked. Tests leave it running."""
    return network.machine(custom_data=CLOUD_CONFIG, identity={"type": "SystemAssigned"})


def test_cloud_init_writes_files_and_runs_scripts_in_the_machines_own_folder(machine: TestMachine) -> None:
    shown = machine.out("cloud-init status --wait", "cat /opt/once /opt/conf", "echo", "cat /var/lib/proof/driver")
    assert shown == "status: done\nrun once as root sh\nproved\nTesla T4\n"
    log = machine.out("cat /var/log/cloud-init-output.log")
    assert "doesn't act out the module of 'users'" in log
    assert "doesn't act out the module of 'packages'" in log


def test_a_machine_shows_that_it_runs_and_what_on(machine: TestMachine) -> None:
    view = machine.view()
    assert [one["code"] for one in view["statuses"]] == ["ProvisioningState/succeeded", "PowerState/running"]
    assert view["osName"] == "Ubuntu 22.04 LTS"
    assert view["hyperVGeneration"] == "V2"
    assert view["vmAgent"]["statuses"][0]["displayStatus"] == "Ready"
    whole = machine.azure.get(machine.id, COMPUTE, **{"$expand": "instanceView"}).json()
    assert whole["properties"]["instanceView"]["statuses"] == view["statuses"]
    profile = whole["properties"]["osProfile"]
    assert "customData" not in profile
    assert profile["linuxConfiguration"]["ssh"]["publicKeys"][0]["keyData"].startswith("ssh-ed25519")


def test_a_script_gets_parameters_and_shows_both_streams(machine: TestMachine) -> None:
    parameters = [{"name": "SIZE", "value": "7"}, {"name": "", "value": "bare"}]
    message = machine.run('echo "$SIZE $@"', "echo trouble >&2", "exit 3", parameters=parameters)
    # Azure/azure-cli issue 7505: the values, and each a variable
    assert message == "Enable succeeded: \n[stdout]\n7 7 bare\n\n[stderr]\ntrouble\n"


def test_a_script_shows_the_last_4096_bytes(machine: TestMachine) -> None:
    shown = machine.out("i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done")
    assert len(shown) == 4096
    assert shown.endswith("2998\n2999\n")


def test_what_a_machine_doesnt_have_is_refused_by_name(machine: TestMachine) -> None:
    message = machine.run("apt-get install -y gcc", "systemctl start docker", "az vm list")
    assert "apt-get: the embedded Azure installs no packages on its machines" in message
    assert "systemctl: the embedded Azure doesn't act it out on its machines" in message
    assert "not 'vm list'" in message


def test_one_script_at_a_time_and_deallocation_ends_it(network: Network) -> None:
    machine = network.machine(image=PLAIN)
    body = {"commandId": "RunShellScript", "script": ["sleep 600"]}
    begun = machine.azure.post(f"{machine.id}/runCommand", COMPUTE, body)
    assert begun.status_code == 202
    again = machine.azure.post(f"{machine.id}/runCommand", COMPUTE, body)
    assert ml.refused(again) == (
        409,
        "Conflict",
        "Run command extension execution is in progress. Please wait for completion before invoking a run command.",
    )
    assert machine.act("deallocate")["status"] == "Succeeded"
    assert machine.azure.finished(begun)["status"] == "Canceled"
    assert machine.power == "deallocated"
    refused = machine.azure.post(f"{machine.id}/runCommand", COMPUTE, body)
    assert ml.refused(refused)[:2] == (409, "OperationNotAllowed")
    assert ml.refused(machine.command("late", "true")) == (
        409,
        "OperationNotAllowed",
        "Cannot modify extensions in the VM when the VM is not running.",
    )


def test_stopped_and_deallocated_are_two_states_and_files_outlive_both(network: Network) -> None:
    machine = network.machine(custom_data=CLOUD_CONFIG)
    machine.run("cloud-init status --wait", "echo kept > /home/kept", "echo gone > /mnt/gone")
    machine.act("powerOff")
    assert machine.power == "stopped"
    machine.act("deallocate")
    assert machine.power == "deallocated"
    machine.act("start")
    shown = machine.out("cloud-init status --wait >/dev/null", "cat /home/kept /var/lib/proof/driver", "ls /mnt")
    assert shown == "kept\nTesla T4\nTesla T4\n", "per-boot scripts run at each start, and the temporary disk is empty"


def test_a_managed_run_command_tells_how_it_went(machine: TestMachine) -> None:
    ml.done(machine.azure, machine.command("fine", "echo out; echo err >&2"))
    told = machine.told("fine")
    assert (told["executionState"], told["exitCode"], told["output"], told["error"]) == ("Succeeded", 0, "out\n", "err\n")
    script = 'echo "$SIZE $TOKEN $@"; tr "\\0" " " < /proc/$$/cmdline | grep -c hush'
    given = {"parameters": [{"name": "SIZE", "value": "7"}, {"name": "", "value": "bare"}]}
    ml.done(machine.azure, machine.command("told", script, **given, protectedParameters=[{"name": "TOKEN", "value": "hush"}]))
    assert machine.told("told")["output"] == "7 hush bare\n0\n", "a list of processes shows no secret"
    ml.done(machine.azure, machine.command("bad", "exit 9", asyncExecution=False))
    assert (machine.told("bad")["executionState"], machine.told("bad")["exitCode"]) == ("Failed", 9)
    answer = machine.command("strict", "exit 9", treatFailureAsDeploymentFailure=True)
    ended = machine.azure.finished(answer)
    assert (ended["status"], ended["error"]["code"]) == ("Failed", "VMExtensionProvisioningError")
    answer = machine.command("slow", "sleep 600", timeoutInSeconds=1)
    assert machine.azure.finished(answer)["status"] == "Succeeded"
    assert machine.told("slow")["executionState"] == "TimedOut"


def test_output_grows_in_an_append_blob_while_a_script_runs(machine: TestMachine, network: Network) -> None:
    azure = machine.azure
    storage = ml.put_storage(azure, network.group)
    account = storage.rsplit("/", 1)[1]
    ml.upload(azure, account, "logs", "there")
    url = f"{azure.url}/blob/{account}/logs/out.txt"
    answer = machine.command("denied", "echo hello", outputBlobUri=url, asyncExecution=True)
    assert azure.finished(answer)["status"] == "Succeeded"
    denied = machine.until_told("denied", "Failed")
    assert "AuthorizationPermissionMismatch" in denied["executionMessage"], "the machine's identity has no role yet"
    principal = azure.get(machine.id, COMPUTE).json()["identity"]["principalId"]
    ml.give_role(azure, storage, roles.STORAGE_BLOB_DATA_CONTRIBUTOR, principal)
    script = "echo first; while [ ! -e /opt/go ]; do sleep 0.05; done; echo second"
    assert azure.finished(machine.command("grows", script, outputBlobUri=url, asyncExecution=True))["status"] == "Succeeded"
    assert machine.told("grows")["executionState"] == "Running"
    headers = {"authorization": f"Bearer {azure.token('https://storage.azure.com/.default')}", "x-ms-version": "2023-11-03"}
    with azure.http(headers=headers) as client:
        until(lambda: client.get(url).text == "first\n", "the blob has the first line while the script runs")
        machine.run("touch /opt/go")
        machine.until_told("grows", "Succeeded")
        assert client.get(url).text == "first\nsecond\n"


def test_deleting_a_run_command_ends_its_script(machine: TestMachine) -> None:
    answer = machine.command("endless", "echo $$ > /opt/pid; sleep 600", asyncExecution=True)
    assert machine.azure.finished(answer)["status"] == "Succeeded"
    pid = until(lambda: machine.out("cat /opt/pid 2>/dev/null"), "the script runs").strip()
    ended = machine.azure.delete(f"{machine.id}/runCommands/endless", COMPUTE)
    assert machine.azure.finished(ended)["status"] == "Succeeded"
    assert machine.out(f"kill -0 {pid} 2>/dev/null && echo alive || echo gone") == "gone\n"


def test_the_driver_extension_brings_nvidia_smi_to_a_plain_image(network: Network) -> None:
    machine = network.machine(image=PLAIN)
    assert "command not found" in machine.run("nvidia-smi")
    answer = machine.extension("driver", "Microsoft.HpcCompute", "NvidiaGpuDriverLinux", autoUpgradeMinorVersion=True)
    assert machine.azure.finished(answer)["status"] == "Succeeded"
    # Azure/azhpc-extensions has 535.54 with CUDA 12.2 for Ubuntu 22.04
    assert machine.out("nvidia-smi --query-gpu=driver_version,name --format=csv,noheader") == "535.54, Tesla T4\n"
    (shown,) = machine.view()["extensions"]
    assert (shown["name"], shown["type"]) == ("driver", "Microsoft.HpcCompute.NvidiaGpuDriverLinux")
    assert shown["statuses"][0]["displayStatus"] == "Provisioning succeeded"
    second = machine.extension("other", "Microsoft.HpcCompute", "NvidiaGpuDriverLinux")
    assert "already added or specified in input" in ml.refused(second)[2]


def test_the_driver_extension_fails_on_a_machine_where_the_catalog_knows_that_it_does(network: Network) -> None:
    machine = network.machine(
        image=PLAIN,
        securityProfile={"securityType": "TrustedLaunch", "uefiSettings": {"secureBootEnabled": True, "vTpmEnabled": True}},
    )
    ended = machine.azure.finished(machine.extension("driver", "Microsoft.HpcCompute", "NvidiaGpuDriverLinux"))
    assert (ended["status"], ended["error"]["code"]) == ("Failed", "VMExtensionProvisioningError")
    assert "secure boot" in ended["error"]["message"]
    agent = machine.extension("agent", "Microsoft.Azure.Monitor", "AzureMonitorLinuxAgent")  # kept, and does nothing
    assert machine.azure.finished(agent)["status"] == "Succeeded"
    unknown = machine.extension("other", "Somebody.Else", "Agent")
    assert ml.refused(unknown)[:2] == (501, "NotImplemented")
    script = machine.extension("script", "Microsoft.Azure.Extensions", "CustomScript", settings={"commandToExecute": "true"})
    assert ml.refused(script)[:2] == (501, "NotImplemented")


def test_a_windows_machine_runs_and_refuses_scripts_by_name(network: Network) -> None:
    machine = network.machine(image=WINDOWS)
    assert machine.power == "running"
    assert machine.view()["osName"] == "Windows Server 2022"
    refused = machine.azure.post(f"{machine.id}/runCommand", COMPUTE, {"commandId": "RunPowerShellScript", "script": ["dir"]})
    assert ml.refused(refused)[:2] == (501, "NotImplemented")
    wrong = machine.azure.post(f"{machine.id}/runCommand", COMPUTE, {"commandId": "RunShellScript", "script": ["ls"]})
    assert ml.refused(wrong)[:2] == (400, "BadRequest")
    machine.act("deallocate")
    assert machine.power == "deallocated"


def test_programs_get_tokens_of_the_machines_identity(machine: TestMachine, network: Network) -> None:
    path = "metadata/identity/oauth2/token?api-version=2018-02-01&resource={}"
    ask = f'curl -s -H Metadata:true "$AZURE_POD_IDENTITY_AUTHORITY_HOST/{path}"'
    got = json.loads(machine.out(ask.format("https://storage.azure.com/")))
    claims = json.loads(base64.urlsafe_b64decode(got["access_token"].split(".")[1] + "=="))
    assert claims["oid"] == machine.azure.get(machine.id, COMPUTE).json()["identity"]["principalId"]
    assert claims["aud"] == "https://storage.azure.com/"
    refused = json.loads(machine.out(ask.format(machine.azure.url)))
    assert refused["error"] == "invalid_resource", "no token for Resource Manager, where it has no role"
    nobody = network.machine(image=PLAIN)
    assert json.loads(nobody.out(ask.format("https://storage.azure.com/")))["error_description"] == "Identity not found"


def test_a_deleted_machine_leaves_nothing_but_what_is_detached(network: Network) -> None:
    azure = network.azure
    nic = network.interface()
    machine = network.machine(interface=nic)
    attached = azure.delete(nic, "2024-05-01")
    assert ml.refused(attached)[:2] == (400, "NicInUse")
    disks = f"{network.group}/providers/Microsoft.Compute/disks"
    own = [one for one in azure.get(disks, "2024-03-02").json()["value"] if one["name"].startswith(f"{machine.name}_OsDisk_1_")]
    assert own[0]["managedBy"] == machine.id
    assert ml.refused(azure.delete(own[0]["id"], "2024-03-02"))[:2] == (409, "OperationNotAllowed")
    machine.run("sleep 600 & echo started")
    folder = next((azure.state / "machines").glob(f"{machine.name}-*"))
    machine.delete()
    assert not folder.exists()
    assert str(folder) not in subprocess.run(["ps", "axww"], capture_output=True, text=True, check=True).stdout
    assert own[0]["name"] not in [one["name"] for one in azure.get(disks, "2024-03-02").json()["value"]]
    assert azure.finished(azure.delete(nic, "2024-05-01"))["status"] == "Succeeded"


def test_a_spot_machine_is_evicted_as_its_policy_says(network: Network) -> None:
    azure = network.azure
    machine = network.machine(image=PLAIN, priority="Spot", evictionPolicy="Deallocate")
    done = azure.command("fault", "evict", machine.name)
    assert done.returncode == 0, done.stderr
    assert machine.power == "deallocated"
    deleted = network.machine(image=PLAIN, priority="Spot", evictionPolicy="Delete")
    assert azure.command("fault", "evict", deleted.name).returncode == 0
    assert azure.get(deleted.id, COMPUTE).status_code == 404


def test_names_of_containers_lead_nowhere_else() -> None:
    nothing: Any = None
    with pytest.raises(DockerError, match="Invalid container name"):
        asyncio.run(
            Docker(nothing, nothing, nothing).answer(
                nothing, "docker", {"arguments": ["run", "--name", "..", "i"], "environment": {}}
            )
        )


@pytest.mark.slow
def test_docker_runs_an_image_that_the_identity_may_pull(network: Network) -> None:
    registry = Registry(network.azure, network.group, ml.new_name("reg"))
    assert registry.build("vector_add", "tool:1")["status"] == "Succeeded"
    identity = {"type": "UserAssigned", "userAssignedIdentities": {registry.identity: {}}}
    machine = network.machine(identity=identity)
    image = f"{registry.server}/tool:1"
    assert "unauthorized: authentication required" in machine.run(f"docker run --rm {image}")
    login = f"az login --identity >/dev/null && az acr login --name {registry.id.rsplit('/', 1)[1]}"
    assert "No role, such as AcrPull" in machine.run(login)
    registry.allow_pull()
    assert machine.out(login) == "Login Succeeded\n"
    shown = machine.out(f"docker run --rm --name one --gpus all -e A=b {image}; echo code $?")
    assert "[Vector addition of 50000 elements]" in shown
    assert shown.endswith("code 0\n")
    assert "No such container: one" in machine.run("docker rm -f one"), "it went when it ended"
    assert "docker: the embedded Azure acts out pull, run, rm, and not 'ps'" in machine.run("docker ps")
