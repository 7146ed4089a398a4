"""The driver extension on a machine of the embedded Azure fails by Microsoft's lists, as long as these hold."""

from datetime import date
from typing import Any

import pytest

from azure_gpu.catalog.services.vm_images import IMAGES, Distribution
from azure_gpu.catalog.sizes import SIZES
from localazure.machines import extensions
from localazure.machines.extensions import Extension, ExtensionError
from localazure.machines.machine import Machine
from localazure.machines.machines import Machines
from localazure.machines.model import MachineSettings

NVIDIA, AMD = "NvidiaGpuDriverLinux", "AmdGpuDriverLinux"
T4, H100, V710, RTX = "NC4as_T4_v3", "NC40ads_H100_v5", "NV24ads_V710_v5", "NC144ds_xl_RTXPRO6000BSE_v6"
HELD, LATER = date(2026, 7, 19), date(2026, 7, 20)


class WithDrivers(Machines):
    """Machines of which only the driver matters."""

    def __init__(self) -> None:
        self.drivers: list[str] = []

    def set_driver(self, machine: Machine, version: str) -> None:
        self.drivers.append(version)


def settings(size: str, distribution: Distribution) -> MachineSettings:
    empty: dict[str, Any] = dict.fromkeys(MachineSettings._fields, "")
    image = next(each for each in IMAGES if each.distribution is distribution)
    given = {"size": SIZES.find(size), "size_name": size, "image": image, "windows": False, "secure_boot": False}
    return MachineSettings(**{**empty, **given})


@pytest.mark.parametrize(
    ("size", "kind", "distribution", "day", "fails"),
    [
        (T4, NVIDIA, Distribution.UBUNTU_22_04, HELD, ""),
        (T4, NVIDIA, Distribution.UBUNTU_24_04, HELD, "doesn't support Ubuntu 24.04 LTS"),
        (T4, NVIDIA, Distribution.UBUNTU_24_04, LATER, ""),
        (H100, NVIDIA, Distribution.UBUNTU_22_04, HELD, "doesn't support Standard_NC40ads_H100_v5"),
        (H100, NVIDIA, Distribution.UBUNTU_22_04, LATER, ""),
        (RTX, NVIDIA, Distribution.UBUNTU_22_04, HELD, ""),
        (V710, AMD, Distribution.UBUNTU_24_04, LATER, ""),
        (V710, NVIDIA, Distribution.UBUNTU_24_04, LATER, "doesn't support Standard_NV24ads_V710_v5"),
        (V710, AMD, Distribution.UBUNTU_20_04, date(2025, 7, 8), "doesn't support Ubuntu 20.04 LTS"),
        (V710, AMD, Distribution.UBUNTU_20_04, date(2025, 7, 9), ""),
    ],
)
def test_the_lists_decide_as_long_as_they_hold(size: str, kind: str, distribution: Distribution, day: date, fails: str) -> None:
    machines = WithDrivers()
    machine, extension = Machine.__new__(Machine), Extension("driver", "Microsoft.HpcCompute", kind, {})
    machine.settings = settings(size, distribution)
    if fails:
        with pytest.raises(ExtensionError, match=fails):
            extensions.apply(machine, extension, day, machines)
    else:
        assert extensions.apply(machine, extension, day, machines).endswith("the GPU driver is installed.")
    assert bool(machines.drivers) is (not fails and kind == NVIDIA)
