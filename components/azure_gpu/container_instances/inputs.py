"""Converts a `ContainerGroupSpec` to inputs of the provider's resource.

Values that may be secrets are marked as secret here, so that the engine encrypts them even if the settings have them in plain
text.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

import pulumi
from pulumi_azure_native import containerinstance

from azure_gpu.catalog.problems import Problem
from azure_gpu.container_instances.container import ContainerSpec, InitContainerSettings, InitContainerSpec, Mount
from azure_gpu.container_instances.network import NetworkSpec
from azure_gpu.container_instances.probes import ProbeSpec
from azure_gpu.container_instances.spec import ContainerGroupSpec
from azure_gpu.container_instances.volumes import AzureFileArgs, GitRepoArgs, VolumeArgs
from azure_gpu.shared.context import Dependencies, RegistryArgs
from azure_gpu.shared.workloads import not_built


def container(spec: ContainerSpec, network: NetworkSpec, around: Dependencies) -> containerinstance.ContainerArgs:
    gpu = containerinstance.GpuResourceArgs(count=spec.gpu.count, sku=spec.gpu.sku) if spec.gpu else None
    ports = [port for number in spec.ports for port in network.at_container(number)]
    return containerinstance.ContainerArgs(
        name=spec.name,
        image=_image(spec, around),
        command=list(spec.command) or None,
        environment_variables=_variables(spec.settings, spec.environment) or None,
        ports=[containerinstance.ContainerPortArgs(port=port.port, protocol=port.protocol) for port in ports] or None,
        volume_mounts=_mounts(spec.mounts),
        liveness_probe=_probe(spec.liveness),
        readiness_probe=_probe(spec.readiness),
        resources=containerinstance.ResourceRequirementsArgs(
            requests=containerinstance.ResourceRequestsArgs(cpu=spec.cpu, memory_in_gb=spec.memory_in_gb, gpu=gpu)
        ),
    )


def init_container(spec: InitContainerSpec, around: Dependencies) -> containerinstance.InitContainerDefinitionArgs:
    return containerinstance.InitContainerDefinitionArgs(
        name=spec.name,
        image=_image(spec, around),
        command=list(spec.command) or None,
        environment_variables=_variables(spec.settings, spec.environment) or None,
        volume_mounts=_mounts(spec.mounts),
    )


def missing(spec: ContainerGroupSpec, around: Dependencies) -> list[Problem]:
    """Returns problems for dependencies that the group requires and that are missing."""
    images = _workload_images(around)
    every: Sequence[InitContainerSpec] = [*spec.init_containers, *spec.containers]
    return [
        not_built(container.workload, images, f"{container.path}.workload")
        for container in every
        if container.workload is not None and container.workload not in images
    ]


def _image(spec: InitContainerSpec, around: Dependencies) -> pulumi.Input[str]:
    return spec.settings.get("image", "") if spec.workload is None else _workload_images(around)[spec.workload]


def _workload_images(around: Dependencies) -> Mapping[str, pulumi.Input[str]]:
    return around["registry"]["workload_images"] if "registry" in around else {}


def _variables(
    settings: InitContainerSettings, environment: Mapping[str, pulumi.Input[str]]
) -> Sequence[containerinstance.EnvironmentVariableArgs]:
    """Returns the variables sorted by name, so that their order in the settings has no effect."""
    plain = {name: containerinstance.EnvironmentVariableArgs(name=name, value=value) for name, value in environment.items()}
    secret = {
        name: containerinstance.EnvironmentVariableArgs(name=name, secure_value=pulumi.Output.secret(value))
        for name, value in settings.get("secret_environment", {}).items()
    }
    return [variable for _, variable in sorted({**plain, **secret}.items())]


def _mounts(mounts: Sequence[Mount]) -> list[containerinstance.VolumeMountArgs] | None:
    return [
        containerinstance.VolumeMountArgs(name=mount.volume, mount_path=mount.path, read_only=mount.read_only or None)
        for mount in sorted(mounts, key=lambda mount: mount.volume)
    ] or None


def _probe(spec: ProbeSpec | None) -> containerinstance.ContainerProbeArgs | None:
    if spec is None:
        return None
    http = spec.http
    return containerinstance.ContainerProbeArgs(
        exec_=containerinstance.ContainerExecArgs(command=list(spec.command)) if spec.command else None,
        http_get=containerinstance.ContainerHttpGetArgs(port=http.port, path=http.path, scheme=http.scheme) if http else None,
        initial_delay_seconds=spec.initial_delay_seconds,
        period_seconds=spec.period_seconds,
        failure_threshold=spec.failure_threshold,
        success_threshold=spec.success_threshold,
        timeout_seconds=spec.timeout_seconds,
    )


def volumes(settings: Mapping[str, VolumeArgs]) -> list[containerinstance.VolumeArgs] | None:
    """Returns the volumes sorted by name."""
    return [_volume(name, volume) for name, volume in sorted(settings.items())] or None


def _volume(name: str, settings: VolumeArgs) -> containerinstance.VolumeArgs:
    return containerinstance.VolumeArgs(
        name=name,
        empty_dir={} if "empty_dir" in settings else None,
        secret={file: _base64(text) for file, text in settings["secret"].items()} if "secret" in settings else None,
        azure_file=_share(settings["azure_file"]) if "azure_file" in settings else None,
        git_repo=_repository(settings["git_repo"]) if "git_repo" in settings else None,
    )


def _base64(text: pulumi.Input[str]) -> pulumi.Output[str]:
    """Encodes the file of a secret volume, which the service expects in Base64 and mounts decoded."""
    return pulumi.Output.secret(text).apply(lambda known: base64.b64encode(known.encode()).decode())


def _share(settings: AzureFileArgs) -> containerinstance.AzureFileVolumeArgs:
    return containerinstance.AzureFileVolumeArgs(
        share_name=settings.get("share", ""),
        storage_account_name=settings.get("account", ""),
        storage_account_key=pulumi.Output.secret(settings.get("key", "")),
        read_only=settings.get("read_only"),
    )


def _repository(settings: GitRepoArgs) -> containerinstance.GitRepoVolumeArgs:
    return containerinstance.GitRepoVolumeArgs(
        repository=settings.get("repository", ""), directory=settings.get("directory"), revision=settings.get("revision")
    )


def address(spec: NetworkSpec) -> containerinstance.IpAddressArgs | None:
    """Returns the address; None for a group without inbound access. In a subnet, a group without ports has an address by
    default."""
    if spec.network == "none" or not spec.ports:
        return None
    public = containerinstance.ContainerGroupIpAddressType.PUBLIC
    private = containerinstance.ContainerGroupIpAddressType.PRIVATE
    return containerinstance.IpAddressArgs(
        type=public if spec.network == "public" else private,
        ports=[containerinstance.PortArgs(port=port.port, protocol=port.protocol) for port in spec.ports],
        dns_name_label=spec.dns_label or None,
        auto_generated_domain_name_label_scope=spec.dns_label_scope if spec.dns_label else None,
    )


def dns_config(spec: NetworkSpec) -> containerinstance.DnsConfigurationArgs | None:
    if spec.dns_config is None:
        return None
    return containerinstance.DnsConfigurationArgs(
        name_servers=spec.dns_config["name_servers"],
        search_domains=spec.dns_config.get("search_domains"),
        options=spec.dns_config.get("options"),
    )


def identity(around: Dependencies) -> containerinstance.ContainerGroupIdentityArgs | None:
    if "identity_id" not in around:
        return None
    return containerinstance.ContainerGroupIdentityArgs(
        type=containerinstance.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[around["identity_id"]]
    )


def credentials(spec: ContainerGroupSpec, around: Dependencies) -> list[containerinstance.ImageRegistryCredentialArgs] | None:
    """Returns the identity for images of the stack's registry, and user names and passwords for other registries."""
    found: list[containerinstance.ImageRegistryCredentialArgs] = []
    every = [*spec.init_containers, *spec.containers]
    if "registry" in around and "identity_id" in around and any(_is_from(around["registry"], one) for one in every):
        server = around["registry"]["server"]
        found.append(containerinstance.ImageRegistryCredentialArgs(server=server, identity=around["identity_id"]))
    for login in spec.settings.get("registries", []):
        found.append(
            containerinstance.ImageRegistryCredentialArgs(
                server=login.get("server", ""),
                username=login.get("username"),
                password=pulumi.Output.secret(login.get("password", "")),
            )
        )
    return found or None


def _is_from(registry: RegistryArgs, spec: InitContainerSpec) -> bool:
    # A login server is `name.azurecr.io`, or `name-<hash>.azurecr.io` with a DNS name label scope.
    return spec.image is None or spec.image.registry.split(".")[0].split("-")[0] == registry["name"].lower()
