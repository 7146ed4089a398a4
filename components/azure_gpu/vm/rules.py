"""Validates a virtual machine apart from its size and network: image, administrator, boot, Spot, disk and shutdown."""

import re
from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import spot_price
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.machines import admins, security, shutdown
from azure_gpu.catalog.services.vm_images import IMAGES
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.formats.mail_address import is_address
from azure_gpu.shared.installation import COMMAND
from azure_gpu.shared.validation import written
from azure_gpu.shared.wording import give_secret
from azure_gpu.vm.args import DEFAULT_SHUTDOWN, AdminArgs, GpuVmSettings, ShutdownArgs, VmSpotArgs
from azure_gpu.vm.spec import GpuVmSpec

DISK_GB = (30, 4095)  # of an OS disk
_EXTENSION_PAGE = "MicrosoftDocs/azure-compute-docs, extensions/hpccompute-gpu-linux.md, 2025-06-30"
_ZONE = re.compile(r"[123]")
_SIZE_NAME = re.compile(r"(?:(?:Standard|Basic)_)?[A-Za-z][A-Za-z0-9_-]{0,60}", re.IGNORECASE)


def problems_of(settings: GpuVmSettings, spec: GpuVmSpec, size: Size | None, day: date) -> Iterator[Problem]:
    path, choice, disk, (least, most) = spec.path, spec.image, spec.disk, DISK_GB
    if size is None and not _SIZE_NAME.fullmatch(settings["size"]):
        yield refused("vm.bad_size", f"{path}.size", settings["size"], command=COMMAND)
    if size is not None and size.gpu is None:
        yield refused("vm.no_gpu", f"{path}.size", size.name, command=COMMAND)
    if choice.reference is not None:
        here = f"{path}.{'image' if 'image' in settings else 'size'}"
        yield from vm_images.image_problems(choice.reference, day, here, IMAGES, size=size, trusted_launch=spec.trusted_launch)
    yield from _admin(settings.get("admin", AdminArgs()), spec.operating_system, path)
    if settings.get("security", "auto") == "trusted_launch":
        yield from security.trusted_launch_problems(size, choice.known, f"{path}.security")
    yield from _driver(settings, spec, path)
    if "zone" in settings and _ZONE.fullmatch(settings["zone"]) is None:
        yield refused("vm.bad_zone", f"{path}.zone", settings["zone"])
    price = written(settings.get("spot", VmSpotArgs())).get("max_price", spot_price.ANY_PRICE)
    if not spot_price.is_possible(price):
        yield spot_price.refused(f"{path}.spot.max_price", price)
    if "size_gb" in disk and not least <= disk["size_gb"] <= most:
        yield refused("vm.bad_disk_size", f"{path}.disk.size_gb", disk["size_gb"], least=least, most=most)
    yield from _shutdown(written(settings.get("shutdown", ShutdownArgs())), path)


def _driver(settings: GpuVmSettings, spec: GpuVmSpec, path: str) -> Iterator[Problem]:
    if settings.get("prove_driver", False) and spec.driver.kind == "none":
        yield refused("vm.nothing_to_prove", f"{path}.prove_driver", True)
    closed = settings.get("outbound", "default") == "none" and not spec.network.public_address
    if closed and spec.driver.kind == "extension":
        yield refused("vm.driver_without_outbound", f"{path}.outbound", "none", source=_EXTENSION_PAGE)


def _admin(settings: AdminArgs, system: OperatingSystem, path: str) -> Iterator[Problem]:
    here = f"{path}.admin"
    if "user" in settings:
        yield from admins.user_problems(settings["user"], system, f"{here}.user")
    if system == "Linux":
        if "password" in settings:
            yield refused("vm.password_with_linux", f"{here}.password")
        if "ssh_public_key" not in settings:
            yield refused("vm.no_key", f"{here}.ssh_public_key")
        else:
            yield from admins.key_problems(settings["ssh_public_key"], f"{here}.ssh_public_key")
        return
    if "ssh_public_key" in settings:
        yield refused("vm.key_with_windows", f"{here}.ssh_public_key")
    password = settings.get("password")
    if password is None:
        yield refused("vm.no_password", f"{here}.password", fix=give_secret(f"{here}.password"))
    elif isinstance(password, str):  # an output can't be validated
        yield from admins.password_problems(password, f"{here}.password", give_secret(f"{here}.password"))


def _shutdown(settings: ShutdownArgs, path: str) -> Iterator[Problem]:
    here = f"{path}.shutdown"
    if not settings.get("enabled", True):
        yield refused("vm.no_shutdown", here, False, command=COMMAND)
        return
    time, zone = settings.get("time", DEFAULT_SHUTDOWN), settings.get("timezone", shutdown.UTC)
    yield from shutdown.check(time, zone, f"{here}.time", f"{here}.timezone")
    if "mail_to" in settings and not is_address(settings["mail_to"]):
        yield refused("vm.bad_mail", f"{here}.mail_to", settings["mail_to"])
