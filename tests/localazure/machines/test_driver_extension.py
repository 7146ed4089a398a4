"""The driver extension on a machine of the embedded Azure fails by Microsoft's lists, as long as these hold."""

from datetime import date
from typing import Any

import pytest

from azure_gpu.catalog.services.vm_images import IMAGES
from azure_gpu.catalog.sizes import SIZES
from localazure.machines import extensions
from localazure.machines.extensions import Extension, ExtensionError
from localazure.machines.machine import Machine
from localazure.machines.machines import Machines
from localazure.machines.model import MachineSettings
from tests.support.tables import of_table


class WithDrivers(Machines):
    """Machines of which only the driver matters."""

    def __init__(self) -> None:
        self.drivers: list[str] = []

    def set_driver(self, machine: Machine, version: str) -> None:
        self.drivers.append(version)


def settings(size: str, distribution: str) -> MachineSettings:
    empty: dict[str, Any] = dict.fromkeys(MachineSettings._fields, "")
    image = next(each for each in IMAGES if each.distribution == distribution)
    given = {"size": SIZES.find(size), "size_name": size, "image": image, "windows": False, "secure_boot": False}
    return MachineSettings(**{**empty, **given})


@of_table("size", "maker", "distribution", "day", "fails")
def test_the_lists_decide_as_long_as_they_hold(size: str, maker: str, distribution: str, day: str, fails: str) -> None:
    machines = WithDrivers()
    machine, extension = Machine.__new__(Machine), Extension("driver", "Microsoft.HpcCompute", f"{maker}GpuDriverLinux", {})
    machine.settings = settings(size, distribution)
    judged = date.fromisoformat(day)
    if fails:
        with pytest.raises(ExtensionError, match=fails):
            extensions.apply(machine, extension, judged, machines)
    else:
        assert extensions.apply(machine, extension, judged, machines).endswith("the GPU driver is installed.")
    assert bool(machines.drivers) is (not fails and maker == "Nvidia")
