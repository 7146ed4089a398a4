"""Validates a container group: what its arguments leave open, and the catalog at a date."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from azure_gpu.catalog import container_groups, lifecycle, names, regions
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import container_instances
from azure_gpu.catalog.services.container_instances import ContainerRequest, GroupRequest
from azure_gpu.container_instances.args import ContainerBasics, ContainerGroupSettings, VolumeArgs
from azure_gpu.container_instances.spec import ContainerGroupSpec, ContainerSpec
from azure_gpu.formats import azure_types
from azure_gpu.formats.likely_secrets import check_login
from azure_gpu.shared.context import check_region, check_tags, known
from azure_gpu.shared.wording import give_secret
from azure_gpu.shared.workloads import image_problems

_OUTBOUND = "Microsoft Learn, container-instances-virtual-network-concepts, 2026-07-25"


def problems_of(spec: ContainerGroupSpec, path: str, day: date, last: date | None) -> Iterator[Problem]:
    """Returns the problems of the group at `path`: names, missing secrets, what would be left out without a word, and the
    catalog's at a date. Azure itself judges ports, probes, mounts and zones."""
    settings = spec.settings
    yield from _form(settings, path)
    for container in (*spec.init_containers, *spec.containers):
        if container.path != path:
            yield from names.check(names.CONTAINER, container.name, container.path)
        yield from image_problems(container.settings.get("image"), container.settings.get("workload"), container.path)
        secret = container.settings.get("secret_environment", {})
        for variable in sorted(secret.keys() & container.settings.get("environment", {}).keys()):
            yield refused("variables.set_twice", f"{container.path}.environment.{variable}")
    group_name = known(settings.get("group_name"))
    if group_name is not None:
        yield from names.check(azure_types.CONTAINER_GROUP.arm_type, group_name, f"{path}.group_name")
    if "container_name" in settings:
        yield from names.check(names.CONTAINER, settings["container_name"], f"{path}.container_name")
    yield from _reach(spec, path)
    for name, volume in spec.volumes.items():
        yield from _volume(volume, f"{path}.volumes.{name}")
    for index, registry in enumerate(settings.get("registries", [])):
        yield from _required(registry, ("server", "username", "password"), f"{path}.registries[{index}]")
    yield from check_tags(settings.get("tags", {}), f"{path}.tags")
    yield from check_region(settings.get("location"), f"{path}.location")
    yield from lifecycle.through(lambda on: _of_catalog(spec, path, on), day, last)


def _form(settings: ContainerGroupSettings, path: str) -> Iterator[Problem]:
    """Rejects `containers` together with keys of a single container, and an order that isn't one of all init containers."""
    of_one = ", ".join(key for key in settings if key in ContainerBasics.__annotations__ or key == "container_name")
    several, given = settings.get("containers"), list(settings.get("init_containers", {}))
    if several is not None and of_one:
        yield refused("group.one_and_several", f"{path}.containers", ", ".join(several), of_one=of_one)
    if several is not None and not several:
        yield refused("group.no_container", f"{path}.containers")
    order, names = settings.get("init_order", given), ", ".join(given)
    if sorted(order) != sorted(given):
        allowed = names or "none: there are no init containers"
        yield refused("group.init_order", f"{path}.init_order", ", ".join(order), allowed=allowed, names=names)


def _reach(spec: ContainerGroupSpec, path: str) -> Iterator[Problem]:
    settings, network = spec.settings, spec.settings.get("network", "none")
    has_subnet = "subnet_id" in settings
    if network == "private" and not has_subnet:
        yield refused("group.private_without_subnet", f"{path}.subnet_id")
    if network == "public" and not spec.ports:
        opened = ", ".join(f"{{port: {port}}}" for container in spec.containers for port in container.ports)
        yield refused("group.public_without_ports", f"{path}.ports", ports=opened or "{port: 80}")
    if network == "none" and spec.ports:
        reachable = "private" if has_subnet else "public"
        yield refused("group.ports_unreachable", f"{path}.network", settings.get("network"), network=reachable)
    if has_subnet and not settings.get("explicit_outbound", False):
        yield refused("group.no_outbound", f"{path}.subnet_id", source=_OUTBOUND)
    if "dns_label" in settings:
        yield from names.check(names.DNS_LABEL, settings["dns_label"], f"{path}.dns_label")


def _volume(volume: VolumeArgs, path: str) -> Iterator[Problem]:
    kinds = list(VolumeArgs.__annotations__)
    given = [kind for kind in kinds if kind in volume]
    if len(given) != 1 or volume.get("empty_dir") is False:
        fix = "write empty_dir: true, or another one" if len(given) < 2 else "keep one, and add a volume for each of the others"
        yield refused("group.kinds_of_volume", path, ", ".join(given) or None, allowed=", ".join(kinds), fix=fix)
    if "azure_file" in volume:
        # No mount as an identity: Microsoft Learn, container-instances-volume-azure-files, 2024-08-29.
        yield from _required(volume["azure_file"], ("share", "account", "key"), f"{path}.azure_file")
    if "git_repo" in volume:
        yield from _required(volume["git_repo"], ("repository",), f"{path}.git_repo")
        yield from check_login(
            volume["git_repo"].get("repository", ""),
            f"{path}.git_repo.repository",
            allowed="the URL of a repository that is cloned without a login",
            fix="put private files into the image, or into a share of azure_file",
        )


def _required(given: Mapping[str, object], keys: Sequence[str], path: str) -> Iterator[Problem]:
    """Keys that a file of the group may have set: what neither of them has."""
    for key in keys:
        if key not in given:
            here = f"{path}.{key}"
            fix, allowed = (give_secret(here), "a secret") if key in ("key", "password") else (f"add {key}", "")
            yield Problem(path=here, message="required, but not set", allowed=allowed, fix=fix)


def _of_catalog(spec: ContainerGroupSpec, path: str, day: date) -> list[Problem]:
    """The catalog's problems at that date: GPUs, CPU and memory, region, priority, zone and SKU."""
    # The CUDA version of a workload's image isn't known.
    images = [container_groups.Image(known(one.settings.get("image")) or "", f"{one.path}.image") for one in spec.containers]
    problems = container_groups.check(_request(spec, path), images, day, packaged())
    if spec.location in regions.known():
        return problems
    reported = (Code.NOT_IN_REGION, Code.NOT_LISTED)  # an unknown region is reported elsewhere
    return [problem for problem in problems if problem.code not in reported]


def _request(spec: ContainerGroupSpec, path: str) -> GroupRequest:
    settings = spec.settings
    return GroupRequest(
        location=spec.location,
        os_type=settings.get("os_type", "Linux"),
        in_virtual_network="subnet_id" in settings,
        containers=tuple(_container_request(container) for container in spec.containers),
        location_path=spec.location_path,
        os_type_path=f"{path}.os_type",
        network_path=f"{path}.subnet_id",
        spot=settings.get("priority") == "Spot",
        inbound=bool(spec.ports),
        sku=settings.get("sku", "Standard"),
        spot_path=f"{path}.priority",
    )


def _container_request(container: ContainerSpec) -> ContainerRequest:
    settings, gpu = container.settings, container.settings.get("gpu")
    return ContainerRequest(
        name=container.name,
        cpu=settings.get("cpu", container_instances.DEFAULT_CPU),
        memory_gb=settings.get("memory_in_gb", container_instances.DEFAULT_MEMORY_GB),
        gpu_count=int(gpu["count"]) if gpu else None,
        gpu_sku=gpu["sku"] if gpu else "",
        cpu_path=f"{container.path}.cpu",
        memory_path=f"{container.path}.memory_in_gb",
        gpu_count_path=f"{container.path}.gpu.count",
        gpu_sku_path=f"{container.path}.gpu.sku",
    )
