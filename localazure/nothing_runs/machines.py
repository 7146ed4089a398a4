"""Virtual machines without a process: the power state is shown, and nothing runs on them."""

from localazure.machines.machine import RUNNING, Machine
from localazure.machines.machines import Machines


class StillMachine(Machine):
    """Up at once, and down again without anything to end."""

    async def adopt(self) -> bool:
        self.early.set()
        return True

    def install_programs(self) -> None:
        """It has no file system."""

    async def _up(self) -> None:
        self.record["boots"] += 1
        self.early.set()
        self.enter(RUNNING)

    async def _down(self) -> None:
        """Nothing runs on it."""


class StillMachines(Machines):
    machine = StillMachine
