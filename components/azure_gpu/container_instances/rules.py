"""Validates a container group: each argument, what can't be combined, and the catalog at a date."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from azure_gpu.catalog import container_groups, lifecycle, names, regions
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import container_instances
from azure_gpu.catalog.services.container_instances import ContainerRequest, GroupRequest
from azure_gpu.container_instances.args import (
    AzureFileArgs,
    ContainerBasics,
    ContainerGroupSettings,
    GitRepoArgs,
    InitContainerSettings,
    NetworkSettings,
    PortArgs,
    ProbeArgs,
    RegistryLoginArgs,
    VolumeArgs,
)
from azure_gpu.container_instances.spec import ContainerGroupSpec, ContainerSpec, InitContainerSpec
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.shared.context import check_region, check_tags, known
from azure_gpu.shared.end_dates import last_day
from azure_gpu.shared.wording import give_secret
from azure_gpu.shared.workloads import image_problems

ZONES = ("1", "2", "3")
_LEARN = "Microsoft Learn, container-instances"
_IN_NETWORKS = f"{_LEARN}-virtual-network-concepts, 2024-08-29"
_IN_NETWORKS_NOW = f"{_LEARN}-virtual-network-concepts, 2026-07-25"
_GIT = f"{_LEARN}-volume-gitrepo, 2024-08-29"
_REQUIRED = "required, but not set"


def problems_of(spec: ContainerGroupSpec, path: str, subscription_id: str, day: date) -> Iterator[Problem]:
    """Returns all problems of the group at `path`. `subscription_id`: its own; empty where it isn't known."""
    settings = spec.settings
    if "containers" in settings:
        yield from _form(settings, path)
    for container in spec.containers:
        if "containers" in settings:
            yield from names.check(names.CONTAINER, container.name, container.path)
        yield from _container(container, container.settings)
    yield from _init_containers(spec, path)
    group_name = known(settings.get("group_name"))
    if group_name is not None:
        yield from names.check(azure_types.CONTAINER_GROUP.arm_type, group_name, f"{path}.group_name")
    if "container_name" in settings:
        yield from names.check(names.CONTAINER, settings["container_name"], f"{path}.container_name")
    yield from _subnet(settings, path, subscription_id)
    yield from _reach(spec, path)
    yield from _label(settings, path)
    yield from _ports(spec.ports, path)
    if "containers" in settings:
        yield from _ports_of_containers(spec, path)
    yield from _volumes(spec.volumes, path)
    yield from _volumes_of_mounts(spec, path)
    yield from _registries(settings.get("registries", []), path)
    yield from _zones(settings.get("zones", []), path)
    yield from check_tags(settings.get("tags", {}), f"{path}.tags")
    yield from check_region(settings.get("location"), f"{path}.location")
    yield from lifecycle.through(lambda on: _of_catalog(spec, path, on), day, last_day(settings.get("expires_after")))


def _form(settings: ContainerGroupSettings, path: str) -> Iterator[Problem]:
    """Rejects `containers` together with keys of a single container."""
    of_one = ", ".join(key for key in settings if key in ContainerBasics.__annotations__ or key == "container_name")
    if of_one:
        yield Problem(
            path=f"{path}.containers",
            message=f"can't be combined with keys of one container: {of_one}",
            value=", ".join(settings.get("containers", {})),
            allowed="containers, or the keys of one container",
            fix=f"write {of_one} into one of the containers",
        )
    if not settings.get("containers"):
        fix = "add <name>: {image: …}, or remove containers and describe one in the group itself"
        yield Problem(path=f"{path}.containers", message="at least one container is required", fix=fix)


def _container(spec: ContainerSpec, settings: ContainerBasics) -> Iterator[Problem]:
    yield from _any_container(spec)
    if "liveness" in settings:
        yield from _probe(settings["liveness"], f"{spec.path}.liveness")
    if "readiness" in settings:
        yield from _probe(settings["readiness"], f"{spec.path}.readiness")


def _init_containers(spec: ContainerGroupSpec, path: str) -> Iterator[Problem]:
    given = list(spec.settings.get("init_containers", {}))
    order = spec.settings.get("init_order", given)
    if sorted(order) != sorted(given):
        yield Problem(
            path=f"{path}.init_order",
            message="must name each init container once",
            value=", ".join(order),
            allowed=", ".join(given) or "none: there are no init containers",
            fix=f"write [{', '.join(given)}] in the order that they need, or remove init_order",
        )
    for container in spec.init_containers:
        here, key = container.path, container.name
        yield from names.check(names.CONTAINER, key, here)
        yield from _any_container(container)
        if key in spec.settings.get("containers", {}):
            fix = "rename one of them"
            yield Problem(path=here, message="this name is already used by a container of the group", value=key, fix=fix)


def _any_container(spec: InitContainerSpec) -> Iterator[Problem]:
    """What holds for init containers too."""
    settings = spec.settings
    yield from image_problems(settings.get("image"), settings.get("workload"), spec.path)
    yield from _variables(settings, spec.path)
    folders: dict[str, str] = {}
    for volume, mount in settings.get("mounts", {}).items():
        path, fix = f"{spec.path}.mounts.{volume}.path", f"write /mnt/{volume}"
        folder = mount["path"].rstrip("/")
        if not mount["path"].startswith("/") or ":" in mount["path"] or not folder:
            yield Problem(
                path=path,
                message="a volume can't be mounted here",
                value=mount["path"],
                allowed="an absolute path without a colon, other than /, such as /data",
                fix=fix,
                source="Microsoft's API description of VolumeMount.mountPath, 2024-05-01-preview",
            )
        elif folder in folders:
            message = f"two volumes are mounted in the same folder: {folders[folder]} and {volume}"
            yield Problem(path=path, message=message, value=mount["path"], allowed="a folder for each volume", fix=fix)
        folders.setdefault(folder, volume)


def _variables(settings: InitContainerSettings, path: str) -> Iterator[Problem]:
    plain, secret = settings.get("environment", {}), settings.get("secret_environment", {})
    for kind, variables in (("environment", plain), ("secret_environment", secret)):
        for variable in variables:
            yield from container_instances.check_variable(variable, f"{path}.{kind}.{variable}")
    for variable in sorted(plain.keys() & secret.keys()):
        yield Problem(
            path=f"{path}.environment.{variable}",
            message="set both as plain and as secret",
            allowed="one of environment and secret_environment",
            fix="remove it from environment",
        )


def _probe(probe: ProbeArgs, path: str) -> Iterator[Problem]:
    both = "http" in probe
    if ("command" in probe) == both:
        yield Problem(
            path=path,
            message="set exactly one of `command` and `http`",
            value="command and http" if both else None,
            allowed="command: [program, …], or http: {port: …}",
            fix="remove one of the two" if both else "add one of the two",
        )
    if "command" in probe and not probe["command"]:
        yield Problem(path=f"{path}.command", message="must not be empty", value=[], fix="write [program, …]")
    if "http" in probe:
        yield from container_instances.check_port(probe["http"]["port"], f"{path}.http.port")
        request = probe["http"].get("path", "/")
        if not request.startswith("/"):
            yield Problem(
                path=f"{path}.http.path",
                message="must start with a slash",
                value=request,
                allowed="a path, such as /healthy",
                fix=f"write /{request}",
            )
    numbers: Mapping[str, object] = probe
    for key in ("initial_delay_seconds", "period_seconds", "failure_threshold", "success_threshold", "timeout_seconds"):
        least = 0 if key == "initial_delay_seconds" else 1
        number = numbers.get(key)
        if isinstance(number, int) and number < least:
            allowed = f"{least} or more"
            fix = f"write {allowed}, or remove it for Azure's default"
            yield Problem(path=f"{path}.{key}", message="too small", value=number, allowed=allowed, fix=fix)


def _subnet(settings: NetworkSettings, path: str, subscription_id: str) -> Iterator[Problem]:
    explicit = settings.get("explicit_outbound", False)
    if "subnet_id" not in settings:
        if explicit:
            message = "`explicit_outbound` requires `subnet_id`; outside of a virtual network a group has outbound access"
            fix = "add subnet_id, or remove it"
            yield Problem(path=f"{path}.explicit_outbound", message=message, value=explicit, fix=fix)
        return
    subnet = arm_ids.parse(known(settings["subnet_id"]) or "")
    if subnet is not None and subscription_id and subnet.subscription.lower() != subscription_id.lower():
        yield Problem(
            path=f"{path}.subnet_id",
            message="the subnet must be in the subscription of the group",
            value=subnet.text,
            allowed=f"a subnet of subscription {subscription_id}",
            fix="use a subnet of that subscription, or deploy the group in the subnet's",
            source=_IN_NETWORKS_NOW,
            code=Code.IMPOSSIBLE,
        )
    if not explicit:
        yield Problem(
            path=f"{path}.subnet_id",
            message="without a NAT gateway at its subnet the group has no outbound access, public images included",
            fix="add a NAT gateway with a public address to the subnet, and set explicit_outbound: true",
            source=_IN_NETWORKS_NOW,
            severity=Severity.WARNING,
        )


def _reach(spec: ContainerGroupSpec, path: str) -> Iterator[Problem]:
    settings, network = spec.settings, spec.settings.get("network", "none")
    has_subnet = "subnet_id" in settings
    if network == "private" and not has_subnet:
        yield Problem(
            path=f"{path}.subnet_id",
            message="required with `network: private`",
            allowed="the ARM id of a subnet",
            fix="add subnet_id: <ARM id of a subnet that is delegated to Microsoft.ContainerInstance/containerGroups>",
        )
    if network == "public" and has_subnet:
        yield Problem(
            path=f"{path}.network",
            message="a group in a virtual network can't have a public address",
            value=network,
            allowed="none or private, with a subnet",
            fix="write network: private, or remove subnet_id",
            source=_IN_NETWORKS,
            code=Code.IMPOSSIBLE,
        )
    if network == "public" and not spec.ports:
        opened = ", ".join(f"{{port: {port}}}" for container in spec.containers for port in container.ports)
        yield Problem(
            path=f"{path}.ports",
            message="required with `network: public`",
            allowed=f"1 to {container_instances.MOST_PORTS} ports",
            fix=f"add ports: [{opened or '{port: 80}'}], or remove network",
        )
    if network == "none" and spec.ports:
        yield Problem(
            path=f"{path}.network",
            message="`ports` requires `network: public` or `private`",
            value=settings.get("network"),
            allowed="public, or private with a subnet",
            fix=f"add network: {'private' if has_subnet else 'public'}, or remove ports",
        )
    if "dns_config" in settings and not has_subnet and network != "private":
        yield Problem(
            path=f"{path}.dns_config",
            message="custom DNS servers are documented only for groups in a virtual network",
            fix="add subnet_id, or remove dns_config if Azure refuses the group",
            source=f"{_LEARN}-custom-dns, 2024-10-21",
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )


def _label(settings: NetworkSettings, path: str) -> Iterator[Problem]:
    if "dns_label" not in settings:
        if "dns_label_scope" in settings:
            yield Problem(
                path=f"{path}.dns_label_scope",
                message="`dns_label_scope` requires `dns_label`",
                value=settings["dns_label_scope"],
                fix="add dns_label, or remove it",
            )
        return
    yield from names.check(names.DNS_LABEL, settings["dns_label"], f"{path}.dns_label")
    if settings.get("network") != "public":
        yield Problem(
            path=f"{path}.dns_label",
            message="`dns_label` requires `network: public`",
            value=settings["dns_label"],
            allowed="network: public",
            fix="remove dns_label, or write network: public",
            source=_IN_NETWORKS,
        )


def _ports(ports: Sequence[PortArgs], path: str) -> Iterator[Problem]:
    for index, port in enumerate(ports):
        here = f"{path}.ports[{index}].port"
        yield from container_instances.check_port(port["port"], here)
        if port in ports[:index]:
            yield _twice(here, f"{port['port']}/{port.get('protocol')}", "duplicate port")


def _ports_of_containers(spec: ContainerGroupSpec, path: str) -> Iterator[Problem]:
    opened: dict[int, str] = {}
    for container in spec.containers:
        for index, port in enumerate(container.ports):
            here = f"{container.path}.ports[{index}]"
            yield from container_instances.check_port(port, here)
            if opened.get(port) == container.name:
                yield _twice(here, port, "duplicate port")
            elif port in opened:
                both = f"{opened[port]} and {container.name}"
                yield _twice(here, port, f"containers share one address and can't open the same port: {both}")
            opened.setdefault(port, container.name)
    for index, port in enumerate(spec.ports):
        if port["port"] not in opened and port["port"] in container_instances.PORTS:
            yield Problem(
                path=f"{path}.ports[{index}].port",
                message="no container opens this port",
                value=port["port"],
                allowed=", ".join(map(str, opened)) or "none: no container opens a port",
                fix=f"add ports: [{port['port']}] to the container that listens there, or remove it here",
                source=f"{_LEARN}-troubleshooting, 2024-08-29: the service maps no ports",
            )


def _twice(path: str, value: object, message: str) -> Problem:
    return Problem(path=path, message=message, value=value, allowed="each port once", fix="remove one of them")


def _volumes(volumes: Mapping[str, VolumeArgs], path: str) -> Iterator[Problem]:
    for name, volume in volumes.items():
        here = f"{path}.volumes.{name}"
        yield from names.check(names.VOLUME, name, here)
        yield from _kind_of_volume(volume, here)
        if "azure_file" in volume:
            yield from _share(volume["azure_file"], f"{here}.azure_file")
        if "git_repo" in volume:
            yield from _repository(volume["git_repo"], f"{here}.git_repo")
        if "secret" in volume:
            yield from _secret_files(volume["secret"], f"{here}.secret")


def _kind_of_volume(volume: VolumeArgs, path: str) -> Iterator[Problem]:
    kinds = list(VolumeArgs.__annotations__)
    given = [kind for kind in kinds if kind in volume]
    if given == ["empty_dir"] and not volume.get("empty_dir"):
        fix = "write true, or remove the volume"
        yield Problem(path=f"{path}.empty_dir", message="must be true", value=False, allowed="true", fix=fix)
    elif len(given) != 1:
        several = "keep one, and add a separate volume for each of the others"
        yield Problem(
            path=path,
            message="set exactly one kind of volume",
            value=", ".join(given) or None,
            allowed=", ".join(kinds),
            fix=several if given else "write empty_dir: true, or another one",
        )


def _share(share: AzureFileArgs, path: str) -> Iterator[Problem]:
    for key in ("share", "account"):
        if not share.get(key):
            yield Problem(path=f"{path}.{key}", message=_REQUIRED, fix=f"add {key}")
    if "account" in share:
        yield from names.check(azure_types.STORAGE_ACCOUNT.arm_type, share["account"], f"{path}.account")
    if "key" not in share:
        yield Problem(
            path=f"{path}.key",
            message="required: a share is mounted with a key of its storage account",
            allowed="a secret",
            fix=f"{give_secret(f'{path}.key')}; `az storage account keys list` shows the keys",
            source=f"{_LEARN}-volume-azure-files: no mount as an identity, 2024-08-29",
        )


def _repository(repository: GitRepoArgs, path: str) -> Iterator[Problem]:
    address = repository.get("repository", "")
    if not address.startswith(("https://", "http://")):
        yield Problem(
            path=f"{path}.repository",
            message="not a valid URL of a git repository" if address else _REQUIRED,
            value=None if "@" in address else address or None,  # it may contain a password
            allowed="https://<host>/<repository>",
            fix="write the address that `git clone` takes over HTTPS",
            source=_GIT,
        )
    elif "@" in address.partition("://")[2].split("/", 1)[0]:
        yield Problem(
            path=f"{path}.repository",
            message="the URL holds a user name or a password, which everybody who may read the group could read",
            allowed="a URL without them",
            fix="clone in an init container that gets the password in secret_environment, into a volume that is empty_dir",
        )
    directory = repository.get("directory", ".")
    if ".." in directory or directory.startswith("/"):
        yield Problem(
            path=f"{path}.directory",
            message="must be a folder in the volume",
            value=directory,
            allowed="a folder's name, or . for the volume itself; never ..",
            fix="remove it, or write a name",
            source=_GIT,
        )


def _secret_files(files: Mapping[str, object], path: str) -> Iterator[Problem]:
    for file in files:
        if "/" in file or file in ("", ".", ".."):
            yield Problem(
                path=f"{path}.{file}",
                message="not a valid file name",
                value=file,
                allowed="a name without a slash",
                fix="write only the name; the folder is set by `path` of the mount",
            )
    if not files:
        yield Problem(path=path, message="at least one file is required", fix="add <file>: <secret text>")


def _volumes_of_mounts(spec: ContainerGroupSpec, path: str) -> Iterator[Problem]:
    volumes = spec.volumes
    mounted: set[str] = set()
    for container in (*spec.init_containers, *spec.containers):
        for volume in container.settings.get("mounts", {}):
            mounted.add(volume)
            if volume not in volumes:
                yield Problem(
                    path=f"{container.path}.mounts.{volume}",
                    message="the group has no volume of this name",
                    value=volume,
                    allowed=", ".join(volumes) or "none: the group has no volumes",
                    fix=f"add {path}.volumes.{volume}, or mount another volume",
                    code=Code.NOT_FOUND,
                )
    for name in volumes:
        if name not in mounted:
            yield Problem(
                path=f"{path}.volumes.{name}",
                message="no container mounts this volume",
                fix=f"add mounts: {{{name}: {{path: /mnt/{name}}}}} to a container, or remove the volume",
                severity=Severity.WARNING,
            )


def _registries(registries: Sequence[RegistryLoginArgs], path: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, registry in enumerate(registries):
        here = f"{path}.registries[{index}]"
        for key in ("server", "username"):
            if key not in registry:
                yield Problem(path=f"{here}.{key}", message=_REQUIRED, fix=f"add {key}")
        if "password" not in registry:
            secret = f"{here}.password"
            yield Problem(path=secret, message=_REQUIRED, allowed="a secret", fix=give_secret(secret))
        server = registry.get("server")
        if server is None:
            continue
        if not server or "/" in server:
            yield Problem(
                path=f"{here}.server",
                message="not a valid host name of a registry",
                value=server,
                allowed="a host name, such as ghcr.io or index.docker.io",
                fix=f"write {server.split('://')[-1].split('/')[0] or 'the host name'}",
                source=f"{_LEARN}-reference-yaml, 2024-08-29",
            )
        if server.lower() in seen:
            fix = "remove one of them"
            yield Problem(path=f"{here}.server", message="duplicate registry", value=server, allowed="each once", fix=fix)
        seen.add(server.lower())


def _zones(zones: Sequence[str], path: str) -> Iterator[Problem]:
    if zones and (len(zones) > 1 or zones[0] not in ZONES):
        yield Problem(
            path=f"{path}.zones",
            message="must be exactly one zone",
            value=", ".join(zones),
            allowed=f"one of {', '.join(ZONES)}",
            fix='write zones: ["1"], or remove zones for Azure to choose',
            source=f"{_LEARN}-overview, 2024-08-29",
        )


def _of_catalog(spec: ContainerGroupSpec, path: str, day: date) -> list[Problem]:
    """The catalog's problems at that date: GPUs, CPU and memory, region, priority, zone and SKU."""
    # The CUDA version of a workload's image isn't known.
    images = [container_groups.Image(known(one.settings.get("image")) or "", f"{one.path}.image") for one in spec.containers]
    problems = container_groups.check(_request(spec, path), images, day, packaged())
    if spec.location in regions.known():
        return problems
    return [problem for problem in problems if problem.code is not Code.NOT_IN_REGION]  # an unknown region is reported elsewhere


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
        zones=bool(settings.get("zones")),
        zones_path=f"{path}.zones",
        init_containers=len(spec.init_containers),
        volumes=len(spec.volumes),
        ports=len(spec.ports),
        containers_path=f"{path}.containers" if "containers" in settings else f"{path}.init_containers",
        volumes_path=f"{path}.volumes",
        ports_path=f"{path}.ports",
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
