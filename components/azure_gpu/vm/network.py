"""Resolves the network of a virtual machine: a new one without inbound access, or an existing subnet; an address; a Bastion.

`vm.interface` declares it.
"""

import ipaddress
from collections.abc import Iterator
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.machine_learning.compute import SERVICE_TAG
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.vm.args import DEFAULT_ADDRESS_SPACE, Bastion, GpuVmSettings

SUBNET = "machines"
BASTION_SUBNET = "AzureBastionSubnet"  # required by Azure
LARGEST_PREFIX = 29  # Azure reserves five addresses of every subnet
LARGEST_BASTION_PREFIX = 26
PORTS = {"Linux": "22", "Windows": "3389"}
# Source address of a Bastion of the SKU Developer. Source: MicrosoftDocs/azure-docs, quickstart-developer-sku.md, 2024-04-26.
_AZURE_ITSELF = "168.63.129.16/32"
_BASTION_PAGE = "MicrosoftDocs/azure-docs, articles/bastion/configuration-settings.md, 2021-10-12"


class Rule(NamedTuple):
    """An inbound rule of a security group."""

    name: str
    priority: int
    allow: bool
    sources: tuple[str, ...]  # ranges; only "*": all addresses
    port: str = "*"


class NetworkSpec(NamedTuple):
    """A resolved network. An existing subnet stays in the arguments, as it may be wired."""

    subnet: str
    bastion_subnet: str  # empty: none
    public_address: bool
    bastion: Bastion
    rules: tuple[Rule, ...]


def resolve(settings: GpuVmSettings, system: OperatingSystem, path: str) -> tuple[NetworkSpec, list[Problem]]:
    space = settings.get("address_space", DEFAULT_ADDRESS_SPACE)
    bastion, public = settings.get("bastion", "none"), settings.get("public_address", False)
    subnet, for_bastion, problems = _subnets(space, bastion, f"{path}.address_space")
    rules = _rules(tuple(settings.get("allowed_ranges", [])) if public else (), bastion, for_bastion, PORTS[system])
    spec = NetworkSpec(subnet, for_bastion, public, bastion, rules)
    return spec, [*problems, *_ranges(settings, path), *_together(settings, path), *_subnet(settings, path)]


def _subnets(space: str, bastion: Bastion, path: str) -> tuple[str, str, list[Problem]]:
    """The machine's and the Bastion's address ranges."""
    try:
        network = ipaddress.IPv4Network(space)
    except ValueError:
        return space, "", [refused("vm.bad_address_space", path, space, fix=_mended(space))]
    if bastion == "basic":
        if network.prefixlen >= LARGEST_BASTION_PREFIX:
            words = {"largest": LARGEST_BASTION_PREFIX - 1, "source": _BASTION_PAGE}
            return space, "", [refused("vm.network_too_small_for_bastion", path, space, **words)]
        machine, other = network.subnets(1)
        return str(machine), str(other), []
    if network.prefixlen > LARGEST_PREFIX:
        return space, "", [refused("vm.network_too_small", path, space, largest_prefix=LARGEST_PREFIX)]
    return str(network), "", []


def _mended(text: str) -> str:
    try:
        return f"write {ipaddress.IPv4Network(text, strict=False)}"
    except ValueError:
        return "write 10.71.0.0/24"


def _rules(ranges: tuple[str, ...], bastion: Bastion, bastion_subnet: str, port: str) -> tuple[Rule, ...]:
    """Allows the configured ranges and the Bastion; everything else is denied, including the same network."""
    found: list[Rule] = []
    people = tuple(each for each in ranges if each != SERVICE_TAG)
    if people:
        found.append(Rule("sign-on", 100, True, people, port))
    if SERVICE_TAG in ranges:  # Azure doesn't allow a tag among ranges
        found.append(Rule("machine-learning", 105, True, (SERVICE_TAG,), port))
    if bastion != "none":
        found.append(Rule("bastion", 110, True, (bastion_subnet if bastion == "basic" else _AZURE_ITSELF,), port))
    return (*found, Rule("nothing-else", 4096, False, ("*",)))


def _ranges(settings: GpuVmSettings, path: str) -> Iterator[Problem]:
    ranges, public = settings.get("allowed_ranges", []), settings.get("public_address", False)
    here = f"{path}.allowed_ranges"
    if ranges and not public:
        yield refused("vm.ranges_without_address", here, ranges)
    for index, text in enumerate(ranges):
        if text == SERVICE_TAG:
            continue
        try:
            network = ipaddress.ip_network(text)
        except ValueError:
            yield refused("vm.bad_range", f"{here}[{index}]", text, service_tag=SERVICE_TAG)
            continue
        if network.prefixlen == 0:
            yield refused("vm.whole_internet", f"{here}[{index}]", text)
    if public:
        yield refused("vm.public_address" if ranges else "vm.public_address_for_nobody", f"{path}.public_address", True)


def _together(settings: GpuVmSettings, path: str) -> Iterator[Problem]:
    """Problems of settings that are only for a new network."""
    if "subnet_id" not in settings:
        return
    for key in ("address_space", "outbound"):
        if key in settings:
            yield refused("vm.only_for_new_network", f"{path}.{key}", str(settings.get(key)))
    if settings.get("bastion", "none") != "none":
        yield refused("vm.bastion_in_existing_network", f"{path}.bastion", str(settings.get("bastion")))


def _subnet(settings: GpuVmSettings, path: str) -> Iterator[Problem]:
    subnet = settings.get("subnet_id")
    if not isinstance(subnet, str):
        return
    found = arm_ids.parse(subnet)
    if found is None or not found.is_type(azure_types.SUBNET.arm_type):
        yield refused(
            "vm.bad_subnet", f"{path}.subnet_id", subnet, allowed=azure_types.SUBNET.path.replace("{", "<").replace("}", ">")
        )
