"""What is killed in the middle of an `up`, and what the next `up` makes of it: nothing lost, nothing doubled."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tests.faults.looking import processes as processes_of
from tests.stack.configurations import with_cluster, with_gpu_group
from tests.stack.conftest import MakeStack, calm
from tests.support.embedded import CHECKOUT, SUBSCRIPTION, ServedAzure, until
from tests.support.light_endpoint import foundation, serving, uploaded
from tests.support.patience import SECONDS
from tests.support.ssh_keys import PUBLIC_KEY
from tests.support.stack import ProgramStack

pytestmark = pytest.mark.slow  # each brings a stack up more than once

# group, identity, registry, its purge, role, build, workspace, storage account, its blob service, container group, its logs
ADDED_RESOURCES = 11


@pytest.fixture(scope="module")
def killed(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    made = ServedAzure(tmp_path_factory.mktemp("killed"))
    yield made
    made.stop()


@pytest.fixture
def server(killed: ServedAzure) -> Iterator[ServedAzure]:
    """One for all tests here, without a fault that an earlier test has left."""
    yield killed
    killed.clear_faults()


def interrupted_up(azure: ServedAzure, stack: ProgramStack, kill: Callable[[int], None], *faults: list[str]) -> str:
    """Begins an `up`, waits until a request has run into each of `faults`, kills, and returns what the `up` said."""
    for fault in faults:
        assert azure.command("fault", *fault).returncode == 0
    up = stack.start_up()
    until(lambda: not azure.faults_hold(), "requests run into the faults")
    kill(up.pid)
    text, _ = up.communicate(timeout=SECONDS)
    assert up.returncode != 0, text
    return text


def assert_whole(azure: ServedAzure, stack: ProgramStack) -> None:
    """The next `up` goes through and leaves one of everything, in Azure and in the state, and nothing to change."""
    done = stack.up()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "adder: Succeeded" in done.stdout
    assert assert_one_of_everything(azure, stack) == ADDED_RESOURCES
    assert stack.pulumi("preview", "--expect-no-changes").returncode == 0


def assert_one_of_everything(azure: ServedAzure, stack: ProgramStack) -> int:
    """The state and Azure have the same resources, each once; how many."""
    deployment = stack.exported()
    assert not deployment.get("pending_operations")
    ids = [resource["id"] for resource in deployment["resources"] if resource["type"].startswith("azure-native:")]
    assert len(ids) == len(set(ids))
    in_azure = azure.get(f"/subscriptions/{SUBSCRIPTION}/resources", "2024-11-01").json()["value"]
    named = {each["id"].lower() for each in in_azure if stack.name in each["id"]}  # as every group of this stack is
    mine = {each for each in named if "-nodes/" not in each}  # what AKS makes has a group of its own
    assert mine
    assert mine <= {each.lower() for each in ids}, "something is in Azure that the stack doesn't know"
    return len(ids)


def test_after_pulumi_was_killed_what_was_created_is_taken_in_what_never_was_is_forgotten_and_no_process_is_left(
    server: ServedAzure, make_stack: MakeStack
) -> None:
    stack = make_stack(server, with_gpu_group(server), warm=False)
    stack.create()
    started: list[int] = []
    never_made = ["delay", "--method", "PUT", "--path", "*/storageAccounts/*", "--seconds", "60"]
    # The build runs, nobody hears of it.
    made = ["delay", "--method", "GET", "--path", "*/Microsoft.Resources/operationStatuses/*", "--seconds", "60"]

    def only_these_are_under_way() -> bool:
        state = stack.exported()
        pending = {operation["resource"]["type"].split(":")[-1] for operation in state.get("pending_operations") or ()}
        made_already = {resource["type"].split(":")[-1] for resource in state["resources"]}
        return pending == {"StorageAccount", "Deployment"} and {"RoleAssignment", "Workspace"} <= made_already

    def kill(pid: int) -> None:
        # What the engine begins beside them, such as the role beside the build, is over first.
        until(only_these_are_under_way, "only the account and the build are under way")
        started.extend(descendants(pid))
        os.kill(pid, signal.SIGKILL)

    interrupted_up(server, stack, kill, never_made, made)
    assert started, "the engine had started a language host and a provider"
    assert only_these_are_under_way()
    stack.warm_up()  # how processes start and end is over
    done = stack.operations("preview")
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line.rsplit(":", 1)[-1] for line in done.stdout.splitlines() if "imported into the state" in line]
    assert told == ["foundation-build-vector_add"]
    told = [line.rsplit(":", 1)[-1] for line in done.stdout.splitlines() if "removed from the state" in line]
    assert told == ["foundation-storage"]
    assert "foundation-build-vector_add" in {each["urn"].rsplit(":", 1)[-1] for each in stack.exported()["resources"]}
    assert_whole(server, stack)
    until(lambda: not set(started) & set(running()), "the provider has ended by itself, the language host was ended")


def test_what_was_created_while_the_provider_was_killed_is_taken_in_and_after_azure_was_killed_the_next_up_converges(
    server: ServedAzure, make_stack: MakeStack
) -> None:
    stack = make_stack(server, with_gpu_group(server), warm=False)
    stack.create()
    never_heard_of = ["delay", "--path", "*/Microsoft.Storage/*operation*", "--seconds", "20"]  # the account is there by then
    assert server.command("fault", *never_heard_of).returncode == 0
    up = subprocess.Popen(
        stack.line("up"), cwd=CHECKOUT, env=stack.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    until(lambda: not server.faults_hold(), "the provider asks after the storage account")
    [provider] = processes_of(server.state, ["-m localazure.plugin"])
    os.kill(provider.pid, signal.SIGKILL)
    text, _ = up.communicate(timeout=SECONDS)
    assert up.returncode == 1, text
    # With it what else was under way by then, such as the build.
    assert "foundation-storage" in [line.rsplit(":", 1)[-1] for line in text.splitlines() if "imported into the state: " in line]
    assert "Traceback" not in text
    stack.warm_up()

    # The group is the last but its setting: the SDK shows a traceback where a look-up fails, and by then all
    # look-ups are over.
    fault = ["delay", "--method", "PUT", "--path", "*/containerGroups/*", "--seconds", "60"]
    text = interrupted_up(server, stack, lambda _: server.kill9(), fault)
    server.start()
    assert "Traceback" not in text
    assert_whole(server, stack)


def test_a_create_that_fails_in_azure_and_one_whose_answer_was_lost_are_completed_by_the_next_up(
    server: ServedAzure, make_stack: MakeStack
) -> None:
    stack = make_stack(server, with_gpu_group(server))
    stack.create()
    message = "The region has no capacity for this today."
    fault = ["fail", "--method", "PUT", "--path", "*/workspaces/*", "--status", "409", "--code", "NoCapacity"]
    assert server.command("fault", *fault, "--message", message).returncode == 0
    done = stack.pulumi("up", "--yes", "--skip-preview")
    text = done.stdout + done.stderr
    assert done.returncode != 0
    assert "NoCapacity" in text
    assert message in text
    assert "Traceback" not in text

    # The group comes after the workspace, which has failed.
    fault = ["lose-answer", "--method", "PUT", "--path", "*/containerGroups/*", "--count", "1"]
    assert server.command("fault", *fault).returncode == 0
    stack.pulumi("up", "--yes", "--skip-preview")
    assert not server.faults_hold()
    assert_whole(server, stack)


def test_the_interface_of_a_machine_that_found_no_capacity_is_waited_for_and_the_machine_updated_by_the_next_up(
    azure: ServedAzure, make_stack: MakeStack
) -> None:
    size = {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-11-30", "prove_driver": False}
    says = {"vms": {"trainer": {**size, "admin": {"ssh_public_key": PUBLIC_KEY}}}, "foundation": {"resource_group": "create"}}
    stack = make_stack(azure, {"team": "t", "location": "eastus", "as_of": "2026-11-21", **says})
    stack.create()
    azure.fault("weather", name="reserved-interfaces", seconds=60)
    azure.fault("capacity", location="eastus")
    try:
        failed = stack.pulumi("up", "--yes", "--skip-preview")
        assert "AllocationFailed" in failed.stdout + failed.stderr
        ended = stack.pulumi("destroy", "--yes", "--skip-preview")
        assert "NicReservedForAnotherVm" in ended.stdout + ended.stderr, "without the program nothing waits"
        stack.environment["PULUMI_RUN_PROGRAM"] = "true"
        ended = stack.pulumi("destroy", "--yes", "--skip-preview")
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert "trainer-interface: a network interface stays reserved" in ended.stdout
        del stack.environment["PULUMI_RUN_PROGRAM"]
        assert stack.pulumi("up", "--yes", "--skip-preview").returncode != 0
    finally:
        calm(azure)
    assert [each.operation for each in stack.steps() if each.name == "trainer-machine"] == ["update"]
    assert stack.pulumi("up", "--yes", "--skip-preview").returncode == 0


def test_a_state_whose_checksum_was_being_written_is_read_again(server: ServedAzure, make_stack: MakeStack) -> None:
    stack = make_stack(server, {"team": "t", "location": "eastus"})
    # As in a folder of a user's own: the embedded Azure's connection does without checksums.
    stack.environment["PULUMI_BACKEND_URL"] = stack.environment["PULUMI_BACKEND_URL"].partition("?")[0]
    stack.create()
    (torn,) = server.state.rglob(f"{stack.name}.json.attrs")
    torn.write_text("")
    assert "EOF" in stack.pulumi("preview").stderr
    done = stack.operations("preview")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"the last run was killed while writing {torn.name}" in done.stdout + done.stderr


def test_a_cluster_and_an_endpoint_converge_after_their_up_was_killed_at_cluster_endpoint_and_deployment(
    still_azure: ServedAzure, make_stack: MakeStack, tmp_path: Path
) -> None:
    """Nothing runs on this Azure: what is killed is the engine, and what is asked is what the state and ARM have."""
    stack = make_stack(still_azure, foundation())
    stack.create()
    stack.update()
    serves = serving(uploaded(still_azure, stack.outputs()["storage"]), {"blue": {}})
    stack.configure({**serves, "clusters": with_cluster()["clusters"]})
    # Both at once, which nothing keeps apart.
    for parts in (("managedClusters/*", "onlineEndpoints/*"), ("onlineEndpoints/*/deployments/*",)):
        for part in parts:
            fault = ["delay", "--method", "PUT", "--path", f"*/{part}", "--seconds", "60"]
            assert still_azure.command("fault", *fault).returncode == 0
        with (tmp_path / "up.txt").open("w+") as said:
            up = subprocess.Popen(stack.line("up"), cwd=CHECKOUT, env=stack.environment, stdout=said, stderr=said)
        until(partial(has_run_into_the_fault, still_azure, up), f"requests for {parts} are under way")
        assert up.poll() is None, (tmp_path / "up.txt").read_text()
        for pid in [*descendants(up.pid), up.pid]:  # the engine, the language host and the providers, and the command
            with suppress(ProcessLookupError):  # it ended with one that was killed before it
                os.kill(pid, signal.SIGKILL)
        assert up.wait() == -signal.SIGKILL
        assert len(stack.exported()["pending_operations"]) >= len(parts), "the engine was killed while it created something"
    done = stack.up()
    assert done.returncode == 0, done.stdout + done.stderr
    assert_one_of_everything(still_azure, stack)
    assert stack.pulumi("preview", "--expect-no-changes").returncode == 0
    deployment = still_azure.get(f"{stack.outputs()['endpoints']['colours']}/deployments/blue", "2025-12-01").json()
    assert deployment["properties"]["provisioningState"] == "Succeeded"


def has_run_into_the_fault(azure: ServedAzure, up: "subprocess.Popen[bytes]") -> bool:
    return not azure.faults_hold() or up.poll() is not None


def descendants(pid: int) -> list[int]:
    found = [pid]
    rows = processes()
    while more := [each for each, parent in rows if parent in found and each not in found]:
        found += more
    return found[1:]


def running() -> list[int]:
    return [pid for pid, _ in processes()]


def processes() -> list[tuple[int, int]]:
    """Process ids with their parents', without those that have ended and only wait to be reaped."""
    rows = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True).stdout.splitlines()
    return [(int(pid), int(parent)) for pid, parent, state in (row.split() for row in rows) if not state.startswith("Z")]
