"""Keys and passwords where an identity would do: whoever has one is let in, and nobody sees who it was.

In: a resource. Out: problems.
"""

from collections.abc import Callable, Iterator

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.sources import Source
from azure_gpu.formats import azure_types
from azure_gpu_policies import origins
from azure_gpu_policies.known import UNKNOWN, at, entries, is_word, mapping, text
from azure_gpu_policies.machines import CONTAINER_APP
from azure_gpu_policies.model import Given, Level, OfResource, Policy, Severity
from azure_gpu_policies.resources import Resource

_SHARED_KEY = "SharedKey"


def registry(resource: Resource) -> Iterator[Problem]:
    if at(resource.properties, "adminUserEnabled") is True:
        yield Problem(
            path=resource.path("adminUserEnabled"),
            message="one user name and password let everybody push and pull who has them",
            value=True,
            allowed="false",
            fix="write false, and give identities the roles AcrPull and AcrPush",
            source=str(origins.REGISTRY_ADMIN),
        )


def storage(resource: Resource) -> Iterator[Problem]:
    """Azure takes keys where nothing else is written."""
    allowed = at(resource.properties, "allowSharedKeyAccess")
    if allowed is not UNKNOWN and allowed is not False:
        yield Problem(
            path=resource.path("allowSharedKeyAccess"),
            message="the account's two keys let everybody read and delete everything who has one",
            value=allowed,
            allowed="false",
            fix="write false, and give identities roles such as Storage Blob Data Contributor",
            source=str(origins.STORAGE_KEYS),
        )


def ml_endpoint(resource: Resource) -> Iterator[Problem]:
    mode = at(resource.properties, "properties", "authMode")
    if is_word(mode, "Key"):
        yield Problem(
            path=resource.path("properties.authMode"),
            message="the endpoint answers to everybody who has one of its two keys, which never expire",
            value=mode,
            allowed="AADToken, AMLToken",
            fix="write AADToken, and give callers a role with onlineEndpoints/score/action",
            source=str(origins.ML_KEYS),
        )


def cluster(resource: Resource) -> Iterator[Problem]:
    """AKS has local accounts where nothing else is written."""
    disabled = at(resource.properties, "disableLocalAccounts")
    if disabled is not UNKNOWN and disabled is not True:
        yield Problem(
            path=resource.path("disableLocalAccounts"),
            message="the cluster's own certificates make everybody its administrator who has one, whatever Entra says",
            value=disabled,
            allowed="true, with aadProfile",
            fix="write true, and log people in by Entra: aadProfile with managed and enableAzureRBAC",
            source=str(origins.LOCAL_ACCOUNTS),
        )


def batch_account(resource: Resource) -> Iterator[Problem]:
    """Batch takes all three modes where nothing else is written, and Entra alone where pools lie in the user's subscription."""
    allocation = at(resource.properties, "poolAllocationMode")
    if allocation is UNKNOWN or is_word(allocation, "UserSubscription"):
        return
    modes = at(resource.properties, "allowedAuthenticationModes")
    named = [each for _, each in entries(resource.properties, "allowedAuthenticationModes")]
    if modes is UNKNOWN or (modes is not None and not any(is_word(each, _SHARED_KEY) for each in named)):
        return
    yield Problem(
        path=resource.path("allowedAuthenticationModes"),
        message="the account's two keys let everybody run anything on its pools who has one",
        value=", ".join(map(str, named)) or None,
        allowed="AAD, TaskAuthenticationToken",
        fix="write the two, and give identities the role Azure Batch Data Contributor",
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
        message="images are pulled by a password, which somebody has to keep and renew",
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
            message="people log in to the machine by a password",
            value=disabled,
            allowed="true, with linuxConfiguration.ssh.publicKeys",
            fix="write true, and give the public keys of those who log in",
            source=str(origins.LINUX_PASSWORD),
        )


def _of(azure_type: azure_types.AzureType, rule: Callable[[Resource], Iterator[Problem]]) -> OfResource:
    """The rule, for resources of that type."""

    def judged(resource: Resource, _: Given) -> Iterator[Problem]:
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


def _passwords(resource: Resource, _: Given) -> Iterator[Problem]:
    rule = _PASSWORDS.get(resource.type)
    if rule is not None:
        yield from rule(resource)


POLICIES = (
    Policy(
        name="registry-admin-user",
        title="No registry with an admin user",
        description="A registry is used by identities and has no admin user.",
        level=Level.MANDATORY,
        severity=Severity.HIGH,
        fix="Turn the admin user off, and give identities the roles AcrPull and AcrPush.",
        of_resource=_of(azure_types.REGISTRY, registry),
    ),
    Policy(
        name="storage-shared-key",
        title="No storage by keys",
        description="A storage account takes identities and no account keys.",
        level=Level.MANDATORY,
        severity=Severity.HIGH,
        fix="Set allowSharedKeyAccess to false, and give identities roles.",
        of_resource=_of(azure_types.STORAGE_ACCOUNT, storage),
    ),
    Policy(
        name="ml-endpoint-keys",
        title="No ML endpoint by keys",
        description="An online endpoint of Azure ML takes tokens of Entra and no keys.",
        level=Level.MANDATORY,
        severity=Severity.HIGH,
        fix="Set authMode to AADToken, and give callers a role.",
        of_resource=_of(azure_types.ML_ONLINE_ENDPOINT, ml_endpoint),
    ),
    Policy(
        name="aks-local-accounts",
        title="No cluster with local accounts",
        description="People and programs log in to a cluster by Entra, and there are no local accounts.",
        level=Level.MANDATORY,
        severity=Severity.HIGH,
        fix="Set disableLocalAccounts to true, and configure aadProfile.",
        of_resource=_of(azure_types.MANAGED_CLUSTER, cluster),
    ),
    Policy(
        name="batch-shared-key",
        title="No Batch account by keys",
        description="A Batch account takes tokens of Entra and no account keys.",
        level=Level.MANDATORY,
        severity=Severity.HIGH,
        fix="Set allowedAuthenticationModes to AAD and TaskAuthenticationToken.",
        of_resource=_of(azure_types.BATCH_ACCOUNT, batch_account),
    ),
    Policy(
        name="passwords",
        title="Identities in place of passwords",
        description="Images are pulled by an identity, and people log in to Linux machines by SSH keys.",
        level=Level.ADVISORY,
        severity=Severity.MEDIUM,
        fix="Use an identity with the role AcrPull, and SSH keys.",
        of_resource=_passwords,
    ),
)
