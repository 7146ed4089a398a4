"""Runs virtual machines as processes.

The store has one document for each; machines outlive this server, and the next server takes them over.
"""

import asyncio
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from azure_gpu.formats import azure_types
from localazure.arm.store import Resource
from localazure.batch.nodes import agent
from localazure.blobs.service import Blobs
from localazure.containers.runtime import Runtime
from localazure.folder import same_secret
from localazure.machines import machine as one_machine, model
from localazure.machines.containers import Docker
from localazure.machines.machine import DEALLOCATED, UP, Machine, MachineContext
from localazure.machines.run_commands import RunCommands
from localazure.services import Services

log = logging.getLogger(__name__)
_DOCUMENTS = "machines/"
TICK_SECONDS = 15.0  # between looks at what happens at a certain time


class Machines:
    """All of them."""

    machine = Machine

    def __init__(self, services: Services, blobs: Blobs, folder: Path, containers: Path) -> None:
        self._services = services
        self._folder = folder
        self._machines: dict[str, Machine] = {}
        self._runtime = Runtime(containers)
        self._ticking: asyncio.Task[None] | None = None
        self._ticks: list[Callable[[], object]] = []
        self.docker = Docker(services, self._runtime, self._save)
        self.commands = RunCommands(blobs)
        self._context = MachineContext(folder, services, self._save, self.commands.lost)

    # For ARM

    def find(self, vm_id: str) -> Machine | None:
        return self._machines.get(vm_id.lower())

    def by_secret(self, secret: str) -> Machine | None:
        """Whose programs ask."""
        return next((one for one in self._machines.values() if same_secret(one.record["secret"], secret)), None)

    async def create(self, resource: Resource) -> Machine:
        """A new machine, which runs when this returns; its first start continues in the background."""
        settings = model.read(resource)
        machine = self._machines.get(resource.key)
        if machine is None:
            machine = self.machine(settings, one_machine.new_record(settings, self._services.clock.stamp()), self._context)
            self._machines[resource.key] = machine
        machine.settings = settings
        if machine.power not in UP or machine.agent is None:
            await machine.start()
        return machine

    async def apply(self, resource: Resource) -> None:
        """Another body of a machine that is there: identities count at once, another size starts it again."""
        machine = self._machine(resource.key)
        before, machine.settings = machine.settings, model.read(resource)
        if before.size_name.lower() != machine.settings.size_name.lower() and machine.power in UP:
            await self.docker.machine_stops(machine)
            await machine.restart()

    async def start(self, vm_id: str) -> None:
        machine = self._machine(vm_id)
        if machine.power not in UP:
            await machine.start()

    async def stop(self, vm_id: str, *, deallocate: bool) -> None:
        """Ends what runs on it; its files stay. Deallocated, it costs no computing any more."""
        machine = self._machine(vm_id)
        if machine.power == DEALLOCATED:
            return
        await self.docker.machine_stops(machine)
        await machine.stop(deallocate=deallocate)
        self.commands.lost(machine)

    async def restart(self, vm_id: str) -> None:
        machine = self._machine(vm_id)
        await self.docker.machine_stops(machine)
        await machine.restart()

    async def remove(self, vm_id: str) -> None:
        machine = self._machines.get(vm_id.lower())
        if machine is None:
            return
        for name in list(machine.record["runs"]):
            await self.commands.remove(machine, name)
        await self.docker.machine_stops(machine)
        await machine.leave()
        self._machines.pop(machine.key, None)
        self._services.store.delete_document(_DOCUMENTS + machine.key)

    def set_driver(self, machine: Machine, version: str) -> None:
        """An extension has installed a driver."""
        machine.record["driver"] = version
        machine.install_programs()
        self._save(machine)

    def each_tick(self, work: Callable[[], object]) -> None:
        """`work` is called every few seconds: what happens at a certain time looks at the clock then."""
        self._ticks.append(work)

    # Faults on purpose

    async def evict(self, name: str) -> list[str]:
        """Takes Spot machines of this name away, as their eviction policy says. Their names."""
        found = [one for one in self._machines.values() if one.settings.spot and one.settings.name.lower() == name.lower()]
        for machine in found:
            if machine.settings.eviction == "Delete":
                await self._services.arm.delete(machine.settings.id.text)
            elif machine.power != DEALLOCATED:
                await self.stop(machine.key, deallocate=True)
        return [one.settings.name for one in found]

    # This server

    async def started(self) -> None:
        """Resumes what an earlier server left; what belongs to no machine any more is ended."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._runtime.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        resources = {one.key: one for one in self._services.store.of_type(azure_types.VIRTUAL_MACHINE.arm_type)}
        for name, record in self._services.store.documents(_DOCUMENTS).items():
            resource = resources.get(name.removeprefix(_DOCUMENTS))
            if resource is None:  # the server before was killed while ARM took it away
                self._services.store.delete_document(name)
                continue
            self._machines[resource.key] = self.machine(model.read(resource), record, self._context)
        known = {one.record["folder"] for one in self._machines.values()}
        for folder in self._folder.glob("*/"):
            if folder.name not in known:
                await agent.end(folder)
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        await self._runtime.adopt([group for one in self._machines.values() for group in self.docker.groups(one)])
        await asyncio.gather(*(self._adopt(one) for one in self._machines.values()))
        self._ticking = asyncio.create_task(self._tick())

    async def stopping(self) -> None:
        """This server ends; machines continue for the next."""
        if self._ticking is not None:
            self._ticking.cancel()
        await self.commands.close()
        for machine in self._machines.values():
            machine.leave_alone()

    async def _adopt(self, machine: Machine) -> None:
        try:
            alive = await machine.adopt()
        except Exception:
            log.exception("the machine %s can't be taken up", machine.settings.name)
            return
        self.commands.adopt(machine, alive=alive)

    async def _tick(self) -> None:
        while True:
            for work in self._ticks:
                try:
                    work()
                except Exception:
                    log.exception("what happens at a certain time failed")
            await asyncio.sleep(TICK_SECONDS)

    def _machine(self, vm_id: str) -> Machine:
        machine = self._machines.get(vm_id.lower())
        if machine is None:
            raise LookupError(f"there is no machine {vm_id}")
        return machine

    def _save(self, machine: Machine) -> None:
        if self._machines.get(machine.key) is machine:
            self._services.store.put_document(_DOCUMENTS + machine.key, machine.record)
