"""Converts a `ContainerGroupSpec` to inputs of the provider's resource.

Values that may be secrets are marked as secret here, so that the engine encrypts them even if the settings have them in plain
text.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_azure_native import containerinstance as aci

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import container_instances
from azure_gpu.container_instances.args import MountArgs, ProbeArgs, VolumeArgs
from azure_gpu.container_instances.spec import ContainerGroupSpec, ContainerSpec, InitContainerSpec
from azure_gpu.formats import image_reference
from azure_gpu.shared.context import Dependencies, RegistryArgs, known
from azure_gpu.shared.workloads import not_built


def container(spec: ContainerSpec, group: ContainerGroupSpec, around: Dependencies) -> aci.ContainerArgs:
    settings = spec.settings
    # A port with the protocols of the group's address, else with TCP.
    ports = [
        one
        for number in spec.ports
        for one in [port for port in group.ports if port["port"] == number] or [{"port": number, "protocol": "TCP"}]
    ]
    return aci.ContainerArgs(
        **_any_container(spec, around),
        ports=[aci.ContainerPortArgs(**port) for port in ports] or None,
        liveness_probe=_probe(settings.get("liveness")),
        readiness_probe=_probe(settings.get("readiness")),
        resources=aci.ResourceRequirementsArgs(
            requests=aci.ResourceRequestsArgs(
                cpu=settings.get("cpu", container_instances.DEFAULT_CPU),
                memory_in_gb=settings.get("memory_in_gb", container_instances.DEFAULT_MEMORY_GB),
                gpu=aci.GpuResourceArgs(**settings["gpu"]) if "gpu" in settings else None,
            )
        ),
    )


def init_container(spec: InitContainerSpec, around: Dependencies) -> aci.InitContainerDefinitionArgs:
    return aci.InitContainerDefinitionArgs(**_any_container(spec, around))


def missing(spec: ContainerGroupSpec, around: Dependencies) -> list[Problem]:
    """Returns problems for dependencies that the group requires and that are missing."""
    images = _workload_images(around)
    return [
        not_built(each.workload, images, f"{each.path}.workload")
        for each in (*spec.init_containers, *spec.containers)
        if each.workload is not None and each.workload not in images
    ]


def _any_container(spec: InitContainerSpec, around: Dependencies) -> dict[str, Any]:
    """What containers and init containers have in common. Variables and mounts are sorted by name, so that their order in the
    settings has no effect."""
    settings = spec.settings
    variables = {
        name: aci.EnvironmentVariableArgs(name=name, value=value) for name, value in settings.get("environment", {}).items()
    }
    for name, value in settings.get("secret_environment", {}).items():
        variables[name] = aci.EnvironmentVariableArgs(name=name, secure_value=pulumi.Output.secret(value))
    return {
        "name": spec.name,
        "image": settings.get("image", "") if spec.workload is None else _workload_images(around)[spec.workload],
        "command": list(settings.get("command", [])) or None,
        "environment_variables": [variables[name] for name in sorted(variables)] or None,
        "volume_mounts": [_mount(name, mount) for name, mount in sorted(settings.get("mounts", {}).items())] or None,
    }


def _mount(name: str, mount: MountArgs) -> aci.VolumeMountArgs:
    return aci.VolumeMountArgs(name=name, mount_path=mount["path"], read_only=mount.get("read_only") or None)


def _workload_images(around: Dependencies) -> Mapping[str, pulumi.Input[str]]:
    return around["registry"]["workload_images"] if "registry" in around else {}


def _probe(probe: ProbeArgs | None) -> aci.ContainerProbeArgs | None:
    if probe is None:
        return None
    numbers: dict[str, Any] = {key: value for key, value in probe.items() if key not in ("command", "http")}
    command, http = probe.get("command"), probe.get("http")
    return aci.ContainerProbeArgs(
        exec_=aci.ContainerExecArgs(command=list(command)) if command else None,
        http_get=aci.ContainerHttpGetArgs(port=http["port"], path=http.get("path", "/"), scheme=http.get("scheme", "http"))
        if http
        else None,
        **numbers,
    )


def volume(name: str, settings: VolumeArgs) -> aci.VolumeArgs:
    secret, repository = settings.get("secret"), settings.get("git_repo")
    return aci.VolumeArgs(
        name=name,
        empty_dir={} if "empty_dir" in settings else None,
        secret={file: _base64(text) for file, text in secret.items()} if secret is not None else None,
        azure_file=_share(settings),
        git_repo=aci.GitRepoVolumeArgs(
            repository=repository.get("repository", ""),
            directory=repository.get("directory"),
            revision=repository.get("revision"),
        )
        if repository is not None
        else None,
    )


def _base64(text: pulumi.Input[str]) -> pulumi.Output[str]:
    """Encodes the file of a secret volume, which the service expects in Base64 and mounts decoded."""
    return pulumi.Output.secret(text).apply(lambda known: base64.b64encode(known.encode()).decode())


def _share(settings: VolumeArgs) -> aci.AzureFileVolumeArgs | None:
    if "azure_file" not in settings:
        return None
    share = settings["azure_file"]
    return aci.AzureFileVolumeArgs(
        share_name=share.get("share", ""),
        storage_account_name=share.get("account", ""),
        storage_account_key=pulumi.Output.secret(share.get("key", "")),
        read_only=share.get("read_only"),
    )


def address(group: ContainerGroupSpec) -> aci.IpAddressArgs | None:
    """Returns the address; None for a group without inbound access. In a subnet, a group without ports has an address by
    default."""
    network, label = group.settings.get("network", "none"), group.settings.get("dns_label")
    if network == "none" or not group.ports:
        return None
    kinds = aci.ContainerGroupIpAddressType
    return aci.IpAddressArgs(
        type=kinds.PUBLIC if network == "public" else kinds.PRIVATE,
        ports=[aci.PortArgs(**port) for port in group.ports],
        dns_name_label=label or None,
        auto_generated_domain_name_label_scope=group.settings.get("dns_label_scope", "TenantReuse") if label else None,
    )


def identity(around: Dependencies) -> aci.ContainerGroupIdentityArgs | None:
    if "identity_id" not in around:
        return None
    return aci.ContainerGroupIdentityArgs(
        type=aci.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[around["identity_id"]]
    )


def credentials(spec: ContainerGroupSpec, around: Dependencies) -> list[aci.ImageRegistryCredentialArgs] | None:
    """Returns the identity for images of the stack's registry, and user names and passwords for other registries."""
    found: list[aci.ImageRegistryCredentialArgs] = []
    every = (*spec.init_containers, *spec.containers)
    if "registry" in around and "identity_id" in around and any(_is_from(around["registry"], one) for one in every):
        found.append(aci.ImageRegistryCredentialArgs(server=around["registry"]["server"], identity=around["identity_id"]))
    for login in spec.settings.get("registries", []):
        password = pulumi.Output.secret(login.get("password", ""))
        found.append(
            aci.ImageRegistryCredentialArgs(server=login.get("server", ""), username=login.get("username"), password=password)
        )
    return found or None


def _is_from(registry: RegistryArgs, spec: InitContainerSpec) -> bool:
    image = image_reference.parse(known(spec.settings.get("image")) or "")
    # A login server is `name.azurecr.io`, or `name-<hash>.azurecr.io` with a DNS name label scope.
    return image is None or image.registry.split(".")[0].split("-")[0] == registry["name"].lower()
