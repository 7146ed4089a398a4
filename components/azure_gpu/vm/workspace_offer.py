"""What a virtual machine offers to an Azure Machine Learning workspace that attaches it."""

from azure_gpu.catalog.services.machine_learning.compute import SERVICE_TAG
from azure_gpu.catalog.services.vm_images import Distribution
from azure_gpu.shared.attachable import VmOfWorkspace
from azure_gpu.vm.spec import GpuVmSpec

_UBUNTU = (
    Distribution.UBUNTU_16_04,
    Distribution.UBUNTU_18_04,
    Distribution.UBUNTU_20_04,
    Distribution.UBUNTU_22_04,
    Distribution.UBUNTU_24_04,
)


def of_workspace(spec: GpuVmSpec) -> VmOfWorkspace:
    """The machine for a workspace that attaches it, without values that are known only after its creation."""
    known = spec.image.known
    return VmOfWorkspace(
        id="",
        address="",
        size=spec.size,
        location=spec.location,
        os_type=spec.operating_system.value,
        ubuntu=known is not None and known.distribution in _UBUNTU,
        admin_user=spec.user,
        open_to_service=any(SERVICE_TAG in rule.sources for rule in spec.network.rules),
    )
