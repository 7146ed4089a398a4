"""Resolves the arguments of a virtual machine: fills in all defaults and finds all problems. Pure."""

import hashlib
import re
from collections.abc import Mapping

from azure_gpu.catalog import lifecycle, names, offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.machines import drivers, security
from azure_gpu.catalog.services.machines.drivers import DriverMethod, DriverRequest
from azure_gpu.catalog.size_use import OperatingSystem, Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.formats import azure_types
from azure_gpu.formats.dates import resolve_day, resolve_end
from azure_gpu.images.args import ImageOfPool
from azure_gpu.images.choice import ImageChoice
from azure_gpu.shared.context import Context, check_region, check_tags, known
from azure_gpu.shared.validation import written
from azure_gpu.vm import image as vm_image, network as vm_network, rules as vm_rules
from azure_gpu.vm.args import GpuVmSettings
from azure_gpu.vm.spec import GpuVmSpec

LONGEST_WINDOWS_NAME = 15


def resolve(
    name: str, args: GpuVmSettings, context: Context, images: Mapping[str, ImageOfPool] | None = None
) -> tuple[GpuVmSpec, list[Problem]]:
    """Resolves the machine that the stack file calls `name`, with its problems. Pure."""
    path = context.path("vms", name)
    as_of, problems = resolve_day(args.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    end, end_problems = resolve_end(args.get("expires_after"), day, f"{path}.expires_after", "a machine")
    size = SIZES.find(args["size"])
    location = context.region(args.get("location"))
    choice, system, image_problems = vm_image.choose(args, size, context.chosen_at(as_of), images or {}, path)
    is_own = choice.reference is None
    network, network_problems = vm_network.resolve(args, system, path)
    trusted = _trusted_launch(args, size, choice)
    requested = args.get("driver", "auto")
    by_image = requested != "extension" and (is_own or drivers.brings_driver(choice.known))
    secure = trusted and security.secure_boot(system, extension=not by_image)
    driver_request = DriverRequest(
        size=size,
        image=choice.known,
        operating_system=system,
        own_image=is_own,
        path=f"{path}.driver" if "driver" in args else f"{path}.{choice.key}",
        image_path=f"{path}.{choice.key if choice.key in args else 'size'}",
        requested=requested,
        secure_boot=secure,
    )
    driver, _ = drivers.choose(driver_request, context.chosen_at(as_of))
    machine = known(args.get("vm_name")) or context.name(azure_types.VIRTUAL_MACHINE.arm_type, name)
    use = SizeUse(
        service=Service.VIRTUAL_MACHINES,
        size=args["size"],
        region=location,
        path=f"{path}.size",
        region_path=f"{path}.location" if "location" in args else context.own_path("location"),
        spot="spot" in args and written(args["spot"]).get("enabled", True),
        operating_system=system,
    )
    spec = GpuVmSpec(
        context=context,
        path=path,
        settings=args,
        name=machine,
        computer_name=_computer_name(machine, system, name),
        location=location,
        size=size.name if size is not None else args["size"],
        image=choice,
        operating_system=system,
        driver=driver,
        proved_gpus=_proved_gpus(args, size, driver, system),
        trusted_launch=trusted,
        secure_boot=secure,
        network=network,
        tags={**context.tags(as_of), **args.get("tags", {}), **end.tags},
        expires_at=end.at,
        use=use,
    )
    of_size = offers.check(use, day, prices=packaged(), until=end.last)
    of_machine = lifecycle.through(
        lambda on: [*drivers.choose(driver_request, on)[1], *vm_rules.problems_of(args, spec, size, on)], day, end.last
    )
    problems += [*end_problems, *of_size, *image_problems, *network_problems]
    problems += [*vm_image.fit_problems(args, choice, size, path), *of_machine]
    problems += check_region(args.get("location"), f"{path}.location")
    if "vm_name" in args:
        problems += names.check(azure_types.VIRTUAL_MACHINE.arm_type, machine, f"{path}.vm_name")
    return spec, [*problems, *check_tags(args.get("tags", {}), f"{path}.tags")]


def _trusted_launch(args: GpuVmSettings, size: Size | None, choice: ImageChoice) -> bool:
    requested = args.get("security", "auto")
    if requested == "auto":
        known = choice.known
        doubtful = known is not None and known.trusted_launch_doubt is not None
        return not doubtful and security.takes_trusted_launch(size, known)
    return requested == "trusted_launch"


def _computer_name(machine: str, system: OperatingSystem, name: str) -> str:
    """The host name. Windows allows 15 characters; a hash keeps shortened names unique."""
    if system == "Linux" or len(machine) <= LONGEST_WINDOWS_NAME:
        return machine.replace("_", "-")
    beginning = re.sub(r"[^A-Za-z0-9]", "", name)[:6]
    return f"{beginning}-{hashlib.sha256(machine.encode()).hexdigest()[:8]}"


def _proved_gpus(args: GpuVmSettings, size: Size | None, driver: DriverMethod, system: OperatingSystem) -> int:
    nvidia = size is None or size.gpu is None or size.gpu.vendor == "NVIDIA"
    default = driver.kind != "none" and nvidia and system == "Linux"
    if not args.get("prove_driver", default):
        return 0
    whole = int(size.gpu_count) if size is not None and size.gpu_count is not None else 1
    return max(whole, 1)  # a share of a GPU appears as one
