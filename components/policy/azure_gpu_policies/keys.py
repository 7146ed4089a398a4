"""Finds keys and passwords where an identity could be used: they are shared, and don't identify their user."""

from collections.abc import Callable, Iterator

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.sources import Source
from azure_gpu.formats import azure_types
from azure_gpu_policies import origins
from azure_gpu_policies.known import UNKNOWN, at, entries, is_word, mapping, text
from azure_gpu_policies.machines import CONTAINER_APP
from azure_gpu_policies.model import OfResource, PolicySettings, policy
from azure_gpu_policies.resources import Resource

_SHARED_KEY = "SharedKey"


def registry(resource: Resource) -> Iterator[Problem]:
    if at(resource.properties, "adminUserEnabled") is True:
        yield Problem(
            path=resource.path("adminUserEnabled"),
            message="anyone with the admin user's password can push and pull",
            value=True,
            allowed="false",
            fix="write false, and assign identities the roles AcrPull and AcrPush",
            source=str(origins.REGISTRY_ADMIN),
        )


def storage(resource: Resource) -> Iterator[Problem]:
    """Checks storage accounts, which allow keys by default."""
    allowed = at(resource.properties, "allowSharedKeyAccess")
    if allowed is not UNKNOWN and allowed is not False:
        yield Problem(
            path=resource.path("allowSharedKeyAccess"),
            message="anyone with one of the account's two keys can read and delete everything",
            value=allowed,
            allowed="false",
            fix="write false, and assign identities roles such as Storage Blob Data Contributor",
            source=str(origins.STORAGE_KEYS),
        )


def ml_endpoint(resource: Resource) -> Iterator[Problem]:
    mode = at(resource.properties, "properties", "authMode")
    if is_word(mode, "Key"):
        yield Problem(
            path=resource.path("properties.authMode"),
            message="anyone with one of the endpoint's two keys, which never expire, can call it",
            value=mode,
            allowed="AADToken, AMLToken",
            fix="write AADToken, and assign callers a role with onlineEndpoints/score/action",
            source=str(origins.ML_KEYS),
        )


def cluster(resource: Resource) -> Iterator[Problem]:
    """Checks clusters, which have local accounts by default."""
    disabled = at(resource.properties, "disableLocalAccounts")
    if disabled is not UNKNOWN and disabled is not True:
        yield Problem(
            path=resource.path("disableLocalAccounts"),
            message="anyone with the cluster's local administrator certificate bypasses Entra",
            value=disabled,
            allowed="true, with aadProfile",
            fix="write true, and set aadProfile with managed and enableAzureRBAC",
            source=str(origins.LOCAL_ACCOUNTS),
        )


def batch_account(resource: Resource) -> Iterator[Problem]:
    """Checks Batch accounts, which allow all three modes by default, and only Entra in user subscription mode."""
    allocation = at(resource.properties, "poolAllocationMode")
    if allocation is UNKNOWN or is_word(allocation, "UserSubscription"):
        return
    modes = at(resource.properties, "allowedAuthenticationModes")
    named = [each for _, each in entries(resource.properties, "allowedAuthenticationModes")]
    if modes is UNKNOWN or (modes is not None and not any(is_word(each, _SHARED_KEY) for each in named)):
        return
    yield Problem(
        path=resource.path("allowedAuthenticationModes"),
        message="anyone with one of the account's two keys can run anything on its pools",
        value=", ".join(map(str, named)) or None,
        allowed="AAD, TaskAuthenticationToken",
        fix="write these two, and assign identities the role Azure Batch Data Contributor",
        source=str(origins.BATCH_KEYS),
    )


def _group(resource: Resource) -> Iterator[Problem]:
    for index, each in entries(resource.properties, "imageRegistryCredentials"):
        if at(each, "password") is not None:
            here = f"imageRegistryCredentials[{index}]"
            yield _password(resource, f"{here}.password", f"{here}.identity", origins.GROUP_REGISTRY)


def _container_app(resource: Resource) -> Iterator[Problem]:
    for index, each in entries(resource.properties, "configuration", "registries"):
        if text(each, "passwordSecretRef"):
            here = f"configuration.registries[{index}]"
            yield _password(resource, f"{here}.passwordSecretRef", f"{here}.identity", origins.APP_REGISTRY)


def _pool(resource: Resource) -> Iterator[Problem]:
    below = "deploymentConfiguration.virtualMachineConfiguration.containerConfiguration"
    for index, each in entries(resource.properties, *below.split("."), "containerRegistries"):
        if at(each, "password") is not None:
            here = f"{below}.containerRegistries[{index}]"
            yield _password(resource, f"{here}.password", f"{here}.identityReference", origins.BATCH_REGISTRY)


def _password(resource: Resource, path: str, instead: str, source: Source) -> Problem:
    return Problem(
        path=resource.path(path),
        message="images are pulled with a password, which has to be kept and renewed",
        allowed="an identity with the role AcrPull",
        fix=f"remove it, and set {instead.rpartition('.')[2]} to the id of a user-assigned identity",
        source=str(source),
    )


def _machine(resource: Resource) -> Iterator[Problem]:
    linux = mapping(resource.properties, "osProfile", "linuxConfiguration")
    disabled = at(linux, "disablePasswordAuthentication")
    has_password = at(resource.properties, "osProfile", "adminPassword") is not None
    if linux is not None and disabled is not UNKNOWN and disabled is not True and has_password:
        yield Problem(
            path=resource.path("osProfile.linuxConfiguration.disablePasswordAuthentication"),
            message="the machine allows login with a password",
            value=disabled,
            allowed="true, with linuxConfiguration.ssh.publicKeys",
            fix="write true, and set the public keys of those who log in",
            source=str(origins.LINUX_PASSWORD),
        )


def _of(azure_type: azure_types.AzureType, rule: Callable[[Resource], Iterator[Problem]]) -> OfResource:
    """Applies the rule to resources of that type."""

    def judged(resource: Resource, _: PolicySettings) -> Iterator[Problem]:
        if resource.type == azure_type.token:
            yield from rule(resource)

    return judged


_PASSWORDS: dict[str, Callable[[Resource], Iterator[Problem]]] = {
    azure_types.CONTAINER_GROUP.token: _group,
    azure_types.JOB.token: _container_app,
    CONTAINER_APP: _container_app,
    azure_types.BATCH_POOL.token: _pool,
    azure_types.VIRTUAL_MACHINE.token: _machine,
}


def _passwords(resource: Resource, _: PolicySettings) -> Iterator[Problem]:
    rule = _PASSWORDS.get(resource.type)
    if rule is not None:
        yield from rule(resource)


POLICIES = (
    policy("registry-admin-user", of_resource=_of(azure_types.REGISTRY, registry)),
    policy("storage-shared-key", of_resource=_of(azure_types.STORAGE_ACCOUNT, storage)),
    policy("ml-endpoint-keys", of_resource=_of(azure_types.ML_ONLINE_ENDPOINT, ml_endpoint)),
    policy("aks-local-accounts", of_resource=_of(azure_types.MANAGED_CLUSTER, cluster)),
    policy("batch-shared-key", of_resource=_of(azure_types.BATCH_ACCOUNT, batch_account)),
    policy("passwords", of_resource=_passwords),
)
