"""Machines over the end of the embedded Azure: a killed one's are adopted with what they run, and `stop` leaves nothing."""

import asyncio
import subprocess
from types import SimpleNamespace
from typing import Any, cast

from localazure import kinds  # noqa: F401 - machines and kinds need each other, and kinds come first
from localazure.machines.machine import STARTING, Machine
from tests.localazure.conftest import new_group
from tests.support.embedded import ServedAzure, until
from tests.support.machines import COMPUTE, PLAIN, Network

CONFIG = "#cloud-config\nruncmd:\n- echo $$ > /opt/boots; while [ ! -e /opt/go ]; do sleep 0.05; done; echo done >> /opt/boots\n"


def processes_of(azure: ServedAzure) -> list[str]:
    shown = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in shown.splitlines() if str(azure.state / "machines") in line]


def test_a_machine_that_comes_up_as_the_server_ends_is_left_to_the_next() -> None:
    async def told() -> None:
        services = SimpleNamespace(clock=SimpleNamespace(stamp=lambda: "now"))
        context = SimpleNamespace(services=services, save=lambda _: None)
        machine = Machine(cast(Any, None), {"power": "stopped"}, cast(Any, context))
        machine._up = lambda: asyncio.sleep(60)
        starting = asyncio.create_task(machine.start())
        await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait([starting])
        assert machine.power == STARTING

    asyncio.run(told())


def test_a_killed_servers_machines_go_on_for_the_next_and_stop_ends_them(own_served_azure: ServedAzure) -> None:
    network = Network(own_served_azure, new_group(own_served_azure))
    machine = network.machine(image=PLAIN, custom_data=CONFIG, identity={"type": "SystemAssigned"})
    script = "echo begun; while [ ! -e /opt/go ]; do sleep 0.05; done; echo over; exit 5"
    assert own_served_azure.finished(machine.command("lasting", script, asyncExecution=True))["status"] == "Succeeded"
    until(lambda: machine.told("lasting")["output"] == "begun\n", "the script runs")
    sync = machine.command("waited-for", "while [ ! -e /opt/go ]; do sleep 0.05; done; echo also")
    assert sync.status_code == 201
    until(lambda: machine.told("waited-for")["executionState"] == "Running", "the other one runs too")
    own_served_azure.kill9()
    own_served_azure.start()
    assert machine.power == "running"
    machine.run("touch /opt/go")
    told = machine.until_told("lasting", "Failed")
    assert (told["output"], told["exitCode"]) == ("begun\nover\n", 5)
    assert own_served_azure.finished(sync)["status"] == "Succeeded"
    assert machine.told("waited-for")["output"] == "also\n"
    assert machine.out("cloud-init status --wait >/dev/null; tail -1 /opt/boots") == "done\n"

    assert own_served_azure.finished(machine.command("left", "sleep 600", asyncExecution=True))["status"] == "Succeeded"
    assert processes_of(own_served_azure)
    own_served_azure.stop()
    assert processes_of(own_served_azure) == []
    own_served_azure.start()
    until(lambda: machine.power == "running", "the machine starts again with the embedded Azure")
    assert machine.told("left")["executionState"] == "Failed"
    assert machine.out("tail -1 /opt/boots") == "done\n", "its files are there, and its first start isn't done again"
    machine.act("deallocate")
    own_served_azure.restart()
    assert machine.power == "deallocated"
    machine.delete()
    assert own_served_azure.get(machine.id, COMPUTE).status_code == 404
    assert list((own_served_azure.state / "machines").iterdir()) == []
