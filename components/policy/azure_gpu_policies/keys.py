"""Finds keys and passwords where an identity could be used: they are shared, and don't identify their user."""

from collections.abc import Iterator

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import azure_types
from azure_gpu_policies.known import UNKNOWN, at, entries, is_word, mapping, text
from azure_gpu_policies.machines import CONTAINER_APP
from azure_gpu_policies.model import PolicySettings, policy
from azure_gpu_policies.resources import Resource
from azure_gpu_policies.rules import of_rows, problem

_SHARED_KEY = "SharedKey"


def batch_account(resource: Resource, _: PolicySettings | None = None) -> Iterator[Problem]:
    """Checks Batch accounts, which allow all three modes by default, and only Entra in user subscription mode."""
    allocation = at(resource.properties, "poolAllocationMode")
    if resource.type != azure_types.BATCH_ACCOUNT.token or allocation is UNKNOWN or is_word(allocation, "UserSubscription"):
        return
    modes = at(resource.properties, "allowedAuthenticationModes")
    named = [each for _, each in entries(resource.properties, "allowedAuthenticationModes")]
    if modes is UNKNOWN or (modes is not None and not any(is_word(each, _SHARED_KEY) for each in named)):
        return
    path = resource.path("allowedAuthenticationModes")
    yield problem("batch-shared-key", path, ", ".join(map(str, named)) or None)


# Where passwords of registries are: the list, and the key in each entry.
_OF_REGISTRIES = (
    (azure_types.CONTAINER_GROUP.token, "imageRegistryCredentials", "password"),
    (azure_types.JOB.token, "configuration.registries", "passwordSecretRef"),
    (CONTAINER_APP, "configuration.registries", "passwordSecretRef"),
    (
        azure_types.BATCH_POOL.token,
        "deploymentConfiguration.virtualMachineConfiguration.containerConfiguration.containerRegistries",
        "password",
    ),
)


def _machine(resource: Resource) -> Iterator[Problem]:
    linux = mapping(resource.properties, "osProfile", "linuxConfiguration")
    disabled = at(linux, "disablePasswordAuthentication")
    has_password = at(resource.properties, "osProfile", "adminPassword") is not None
    if linux is not None and disabled is not UNKNOWN and disabled is not True and has_password:
        path = resource.path("osProfile.linuxConfiguration.disablePasswordAuthentication")
        yield problem("passwords/login", path, disabled)


def _passwords(resource: Resource, _: PolicySettings) -> Iterator[Problem]:
    if resource.type == azure_types.VIRTUAL_MACHINE.token:
        yield from _machine(resource)
    for token, below, key in _OF_REGISTRIES:
        for index, each in entries(resource.properties, *below.split(".")) if resource.type == token else ():
            # A password is one even where it isn't known before an update; a reference may be to nothing.
            if text(each, key) if key == "passwordSecretRef" else at(each, key) is not None:
                yield problem("passwords/registry", resource.path(f"{below}[{index}].{key}"), of=token)


POLICIES = (
    of_rows("registry-admin-user"),
    of_rows("storage-shared-key"),
    of_rows("ml-endpoint-keys"),
    of_rows("aks-local-accounts"),
    policy("batch-shared-key", of_resource=batch_account),
    policy("passwords", of_resource=_passwords),
)
