"""The resolved machine, `GpuVmSpec`, and what it offers to an Azure Machine Learning workspace that attaches it."""

from dataclasses import dataclass

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.services.machine_learning.compute import SERVICE_TAG
from azure_gpu.catalog.services.machines import costs
from azure_gpu.catalog.services.machines.costs import Cost, MachineUse
from azure_gpu.catalog.services.machines.drivers import DriverMethod
from azure_gpu.catalog.size_use import OperatingSystem, SizeUse
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.images.choice import ImageChoice
from azure_gpu.shared.attachable import VmOfWorkspace
from azure_gpu.shared.context import Context, Tags
from azure_gpu.shared.naming import physical_name
from azure_gpu.shared.validation import written
from azure_gpu.vm.args import DEFAULT_DISK_GB, DEFAULT_DISK_TYPE, DEFAULT_USER, AdminArgs, DiskArgs, GpuVmSettings, VmSpotArgs
from azure_gpu.vm.network import NetworkSpec

_HPC = ("microsoft-dsvm", "ubuntu-hpc")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuVmSpec:
    """A resolved machine. What needs no resolving and wired values stay in the arguments."""

    context: Context
    path: str
    settings: GpuVmSettings
    name: str
    computer_name: str
    location: str
    size: str  # as the catalog spells it
    image: ImageChoice
    operating_system: OperatingSystem
    driver: DriverMethod
    proved_gpus: int  # that the machine checks at every start; 0: none
    trusted_launch: bool
    secure_boot: bool
    network: NetworkSpec
    tags: Tags
    expires_at: str | None  # instant in UTC, RFC 3339
    use: SizeUse

    @property
    def spot(self) -> VmSpotArgs | None:
        """None for a regular machine."""
        given = written(self.settings["spot"]) if "spot" in self.settings else None
        return given if given is not None and given.get("enabled", True) else None

    @property
    def user(self) -> str:
        return self.settings.get("admin", AdminArgs()).get("user", DEFAULT_USER)

    @property
    def disk(self) -> DiskArgs:
        return self.settings.get("disk", DiskArgs())

    @property
    def disk_gb(self) -> int | None:
        """None: the image's size."""
        reference = self.image.reference
        is_hpc = reference is not None and (reference.publisher.lower(), reference.offer.lower()) == _HPC
        return self.disk.get("size_gb", DEFAULT_DISK_GB if is_hpc else None)

    @property
    def cost(self) -> Cost:
        use = MachineUse(
            size=self.size,
            region=self.location,
            operating_system=self.operating_system,
            spot=self.use.spot,
            disk_type=self.disk.get("type", DEFAULT_DISK_TYPE),
            disk_gib=self.disk_gb,
            public_address=self.network.public_address,
            bastion=self.network.bastion if self.network.bastion != "none" else "",
        )
        return costs.cost(use, packaged())

    @property
    def hourly_cost(self) -> float | None:
        """USD an hour while it runs, without its disk."""
        return self.cost.running.number

    @property
    def idle_cost(self) -> float | None:
        """USD an hour while it is deallocated."""
        return self.cost.stays.number

    @property
    def network_names(self) -> list[tuple[AzureType, str]]:
        """Names of the network's resources, except those inside a new network."""
        candidates = [(azure_types.NETWORK_INTERFACE, True), (azure_types.NETWORK_SECURITY_GROUP, True)]
        candidates += [
            (azure_types.VIRTUAL_NETWORK, "subnet_id" not in self.settings),
            (azure_types.PUBLIC_IP_ADDRESS, self.network.public_address),
        ]
        candidates += [(azure_types.BASTION_HOST, self.network.bastion != "none")]
        return [(each, self.name_of(each)) for each, exists in candidates if exists]

    def name_of(self, azure_type: AzureType, suffix: str = "") -> str:
        """The name of a resource that belongs to the machine."""
        words = [self.name, suffix] if suffix else [self.name]
        return physical_name(azure_type.arm_type, words, subscription_id=self.context.subscription_id)


def of_workspace(spec: GpuVmSpec) -> VmOfWorkspace:
    """The machine for a workspace that attaches it, without values that are known only after its creation."""
    known = spec.image.known
    return VmOfWorkspace(
        id="",
        address="",
        size=spec.size,
        location=spec.location,
        os_type=spec.operating_system,
        ubuntu=known is not None and known.distribution.startswith("Ubuntu"),
        admin_user=spec.user,
        open_to_service=any(SERVICE_TAG in rule.sources for rule in spec.network.rules),
    )
