"""Azure's rules for resource names, per type: length, characters, and whether the name is unique in all of Azure."""

import re
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem

_LEARN = "Microsoft Learn, azure-resource-manager/management/resource-name-rules, read 2026-11-20"
_PSRULE = "PSRule for Azure, rule Azure.Identity.UserAssignedName, read 2026-11-20"
_GUID = "Microsoft Learn, rest/api/authorization/role-assignments/create: the name is any valid GUID"
_TROUBLESHOOTING = "Microsoft Learn, container-instances/container-instances-troubleshooting, the version of 2024-08-29"
_CAF = "aztfmod/terraform-provider-azurecaf issue 226, which lists Azure's rules, 2023-03-06"
_MAINTENANCE = "the service's own refusal, quoted in Azure/ARO-HCP pull request 3260, 2025-11-11"
_AZURE_TEMPLATES = "Microsoft Learn, azure/templates/microsoft.consumption/budgets, read 2026-11-26"
_TYPES = "Azure/bicep-types-az at 1f896de2 (2026-08-20)"
_ML = "assumed to be the pattern of 2023-04-01 in Azure/azure-rest-api-specs; the types of 2025-12-01 name none"
_ML_LIMITS = "Microsoft Learn, machine-learning/how-to-manage-quotas, read 2026-11-20"


class NameRule(NamedTuple):
    """The rule for one type. `expression` doesn't include the length; `words` is for people."""

    shortest: int
    longest: int
    words: str
    expression: str
    globally_unique: bool  # one name in all of Azure, because it becomes a public host name
    source: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled on demand: most programs check few of the types."""
        return re.compile(self.expression)

    @property
    def allowed(self) -> str:
        lengths = f"{self.shortest} to {self.longest}" if self.shortest != self.longest else f"exactly {self.longest}"
        return f"{lengths} characters: {self.words}"


def _rule(
    shortest: int, longest: int, words: str, pattern: str, source: str = _LEARN, *, globally_unique: bool = False
) -> NameRule:
    return NameRule(
        shortest=shortest,
        longest=longest,
        words=words,
        expression=pattern,
        globally_unique=globally_unique,
        source=source,
    )


_INT32 = (
    r"(?:\d{1,9}|1\d{9}|20\d{8}|21[0-3]\d{7}|214[0-6]\d{6}|2147[0-3]\d{5}|21474[0-7]\d{4}|214748[0-2]\d{3}"
    r"|2147483[0-5]\d{2}|21474836[0-3]\d|214748364[0-7])"
)

_NETWORK_WORDS = (
    "letters a to z, digits, underscores, periods and hyphens, a letter or digit first, and at the end one of them or _"
)
_NETWORK_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?"

# No ARM types: what tells an image's definition from others in its gallery.
GALLERY_PUBLISHER = "Microsoft.Compute/galleries/images/identifier/publisher"
GALLERY_OFFER = "Microsoft.Compute/galleries/images/identifier/offer"
GALLERY_SKU = "Microsoft.Compute/galleries/images/identifier/sku"
_GALLERY_WORDS = "letters a to z, digits, periods, hyphens and underscores, no period at the end"
_GALLERY_WORD = r"[A-Za-z0-9._-]*[A-Za-z0-9_-]"
_AZURERM = (
    "hashicorp/terraform-provider-azurerm, internal/services/compute/validate: SharedImageIdentifierAttribute, read 2026-11-25"
)

# No ARM types: parts of a container group.
CONTAINER = "Microsoft.ContainerInstance/containerGroups/containers"
VOLUME = "Microsoft.ContainerInstance/containerGroups/volumes"
DNS_LABEL = "Microsoft.ContainerInstance/containerGroups/dnsNameLabels"

RULES: dict[str, NameRule] = {
    "Microsoft.Resources/resourceGroups": _rule(
        1, 90, "letters, digits, underscores, parentheses, hyphens and periods, no period at the end", r"[-\w.()]*[-\w()]"
    ),
    "Microsoft.Resources/deployments": _rule(
        1, 64, "letters, digits, underscores, parentheses, hyphens and periods", r"[-\w.()]+"
    ),
    "Microsoft.Consumption/budgets": _rule(
        1, 63, "letters a to z, digits, underscores and hyphens", r"[A-Za-z0-9_-]+", _AZURE_TEMPLATES
    ),
    "Microsoft.Authorization/roleAssignments": _rule(
        36, 36, "a GUID", r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", _GUID
    ),
    "Microsoft.ManagedIdentity/userAssignedIdentities": _rule(
        3, 128, "letters a to z, digits, hyphens and underscores, a letter or digit first", r"[A-Za-z0-9][A-Za-z0-9_-]*", _PSRULE
    ),
    "Microsoft.Storage/storageAccounts": _rule(3, 24, "lowercase letters a to z and digits", r"[a-z0-9]+", globally_unique=True),
    "Microsoft.ContainerRegistry/registries": _rule(5, 50, "letters a to z and digits", r"[A-Za-z0-9]+", globally_unique=True),
    "Microsoft.ContainerRegistry/registries/taskRuns": _rule(
        5, 50, "letters a to z, digits and hyphens", r"[A-Za-z0-9-]+", _TYPES
    ),
    "Microsoft.Batch/batchAccounts": _rule(  # unique in its region, whose name follows it in the public host name
        3,
        24,
        "lowercase letters a to z and digits",
        r"[a-z0-9]+",
        "azure-mgmt-batch 19.0.0, batch_account.create",
        globally_unique=True,
    ),
    "Microsoft.Batch/batchAccounts/pools": _rule(
        1, 64, "letters a to z, digits, underscores and hyphens", r"[A-Za-z0-9_-]+", _TYPES
    ),
    "Microsoft.Batch/batchAccounts/applications": _rule(
        1, 64, "letters a to z, digits, underscores and hyphens", r"[A-Za-z0-9_-]+", _TYPES
    ),
    "Microsoft.Batch/batchAccounts/applications/versions": _rule(
        1,
        64,
        "letters a to z, digits, underscores, hyphens and periods, no period first",
        r"[A-Za-z0-9_-][A-Za-z0-9_.-]*",
        _TYPES,
    ),
    "Microsoft.Storage/storageAccounts/blobServices": _rule(7, 7, "default", r"default"),
    "Microsoft.Storage/storageAccounts/blobServices/containers": _rule(
        3,
        63,
        "lowercase letters a to z, digits and hyphens, no hyphen at either end and no two in a row",
        r"[a-z0-9]+(?:-[a-z0-9]+)*|\$(?:root|web|logs)",
    ),
    "Microsoft.Compute/galleries": _rule(
        1,
        80,
        "letters a to z, digits, underscores and periods, a letter or digit at either end",
        r"[A-Za-z0-9](?:[A-Za-z0-9_.]*[A-Za-z0-9])?",
    ),
    "Microsoft.Compute/galleries/images": _rule(
        1,
        80,
        "letters a to z, digits, underscores, hyphens and periods, a letter or digit at either end",
        r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?",
    ),
    GALLERY_PUBLISHER: _rule(1, 128, _GALLERY_WORDS, _GALLERY_WORD, _AZURERM),
    GALLERY_OFFER: _rule(1, 64, _GALLERY_WORDS, _GALLERY_WORD, _AZURERM),
    GALLERY_SKU: _rule(1, 64, _GALLERY_WORDS, _GALLERY_WORD, _AZURERM),
    # Each number is an int32 of the service.
    "Microsoft.Compute/galleries/images/versions": _rule(
        5,
        32,
        "three numbers with periods between them, such as 1.0.0, each at most 2147483647",
        rf"{_INT32}\.{_INT32}\.{_INT32}",
    ),
    "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials": _rule(
        3, 120, "letters a to z, digits, hyphens and underscores, a letter or digit first", r"[A-Za-z0-9][A-Za-z0-9_-]*", _TYPES
    ),
    "Microsoft.ContainerService/managedClusters": _rule(
        1,
        63,
        "letters a to z, digits, underscores and hyphens, a letter or digit at either end",
        r"[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?",
    ),
    # Pools of Windows nodes have 6 characters at the most, which depends on more than the name: `pool_rules` of AKS.
    "Microsoft.ContainerService/managedClusters/agentPools": _rule(
        1, 12, "lowercase letters a to z and digits, a letter first", r"[a-z][a-z0-9]*", _TYPES
    ),
    "Microsoft.ContainerService/managedClusters/maintenanceConfigurations": _rule(
        7,
        31,
        "default, aksManagedAutoUpgradeSchedule or aksManagedNodeOSUpgradeSchedule",
        r"(?i:default|aksManagedAutoUpgradeSchedule|aksManagedNodeOSUpgradeSchedule)",  # in any letter case, as recorded
        _MAINTENANCE,
    ),
    "Microsoft.OperationalInsights/workspaces": _rule(
        4, 63, "letters a to z, digits and hyphens, no hyphen at either end", r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
    ),
    "Microsoft.ContainerInstance/containerGroups": _rule(
        1,
        63,
        "lowercase letters a to z, digits and hyphens, no hyphen at either end and no two in a row",
        r"[a-z0-9]+(?:-[a-z0-9]+)*",
    ),
    "Microsoft.App/managedEnvironments": _rule(
        2, 60, "letters a to z, digits and hyphens, no hyphen at either end", r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?", _CAF
    ),
    "Microsoft.App/jobs": _rule(
        2,
        32,
        "lowercase letters a to z, digits and hyphens, a letter first, no hyphen at the end and no two in a row",
        r"[a-z](?:-?[a-z0-9])*",
        "the service's own refusal (ContainerAppInvalidName), quoted in DefangLabs/pulumi-defang 543, 2026-09-08",
    ),
    "Microsoft.MachineLearningServices/workspaces": _rule(
        3, 33, "letters a to z, digits, underscores and hyphens, a letter or digit first", r"[A-Za-z0-9][A-Za-z0-9_-]*", _TYPES
    ),
    "Microsoft.MachineLearningServices/workspaces/computes": _rule(
        3,
        24,
        "letters a to z, digits and hyphens, a letter first, no hyphen with nothing but digits after it at the end",
        r"[A-Za-z](?![A-Za-z0-9-]*-\d+$)[A-Za-z0-9-]*",
        _TYPES,
    ),
    **{
        f"Microsoft.MachineLearningServices/workspaces/{kind}": _rule(
            1, 255, "letters a to z, digits, underscores and hyphens, a letter or digit first", r"[A-Za-z0-9][A-Za-z0-9_-]*", _ML
        )
        for kind in ("codes", "datastores", "environments", "jobs", "models")
    },
    # The public address of an endpoint holds its name and its region's, whosever it is: one name a region.
    "Microsoft.MachineLearningServices/workspaces/onlineEndpoints": _rule(
        3,
        32,
        "letters a to z, digits and single hyphens, a letter first",
        r"[A-Za-z](?:-?[A-Za-z0-9])*",
        _ML_LIMITS,
        globally_unique=True,
    ),
    "Microsoft.MachineLearningServices/workspaces/onlineEndpoints/deployments": _rule(
        3, 32, "letters a to z, digits and single hyphens, a letter first", r"[A-Za-z](?:-?[A-Za-z0-9])*", _ML_LIMITS
    ),
    "Microsoft.KeyVault/vaults": _rule(
        3,
        24,
        "letters a to z, digits and hyphens, a letter first, no hyphen at the end and no two in a row",
        r"[A-Za-z](?:-?[A-Za-z0-9])*",
        globally_unique=True,
    ),
    "Microsoft.Insights/components": _rule(
        1,
        260,
        "no control characters and none of %&\\?/, no space or period at the end",
        r"[^%&\\?/\x00-\x1f]*[^%&\\?/\x00-\x1f .]",
    ),
    "Microsoft.Network/virtualNetworks": _rule(2, 64, _NETWORK_WORDS, _NETWORK_NAME),
    "Microsoft.Network/privateEndpoints": _rule(2, 64, _NETWORK_WORDS, _NETWORK_NAME),
    **{
        f"Microsoft.Network/{kind}": _rule(1, 80, _NETWORK_WORDS, _NETWORK_NAME)
        for kind in (
            "bastionHosts",
            "natGateways",
            "privateDnsZones/virtualNetworkLinks",
            "networkInterfaces",
            "networkSecurityGroups",
            "publicIPAddresses",
            "virtualNetworks/subnets",
        )
    },
    # A Windows machine's own name has 15 characters at the most; that is `osProfile.computerName`.
    "Microsoft.Compute/virtualMachines": _rule(
        1,
        64,
        "letters a to z, digits, underscores, periods and hyphens, a letter or digit first, no period or hyphen at the end",
        r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?",
    ),
    "Microsoft.Compute/virtualMachines/extensions": _rule(
        1, 80, "letters a to z, digits, underscores, periods and hyphens", r"[A-Za-z0-9_.-]+", _TYPES
    ),
    CONTAINER: _rule(
        1,
        63,
        "lowercase letters a to z, digits and hyphens, no hyphen at either end",
        r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?",
        "the service's own refusal, quoted in MicrosoftDocs/azure-docs issue 15546, 2018-09-25",
    ),
    # The page says 5 to 63; Azure accepts shorter ones, as the volume `logs` of Terraform's documentation.
    VOLUME: _rule(
        1,
        63,
        "lowercase letters a to z, digits and hyphens, no hyphen at either end and no two in a row",
        r"[a-z0-9]+(?:-[a-z0-9]+)*",
        _TROUBLESHOOTING,
    ),
    DNS_LABEL: _rule(
        5,
        63,
        "lowercase letters a to z, digits and hyphens, a letter first and no hyphen at the end",
        r"[a-z](?:[a-z0-9-]*[a-z0-9])?",
        "the service's own refusal, quoted in derekbekoe/vscode-spot issue 38",
    ),
}
_BY_LOWER_TYPE = {arm_type.lower(): rule for arm_type, rule in RULES.items()}


def rule_for(arm_type: str) -> NameRule | None:
    """The rule for a type, spelt in any letter case; None if the table has none."""
    return _BY_LOWER_TYPE.get(arm_type.lower())


def check(arm_type: str, name: str, path: str) -> list[Problem]:
    """One problem where `name` breaks the type's rule, else none. `path` is where the user wrote the name."""
    rule = rule_for(arm_type)
    if rule is None or (rule.shortest <= len(name) <= rule.longest and rule.pattern.fullmatch(name)):
        return []
    kind = arm_type.rsplit("/", 1)[-1]
    return [
        Problem(
            path=path,
            message=f"not a valid name for {kind}",
            value=name,
            allowed=rule.allowed,
            fix=_suggestion(rule, name),
            source=rule.source,
        )
    ]


def _suggestion(rule: NameRule, name: str) -> str:
    """The name without the characters that aren't allowed, if that is a valid name."""
    for candidate in (name, name.lower(), re.sub(r"[^a-z0-9]+", "-", name.lower()), re.sub(r"[^a-z0-9]+", "", name.lower())):
        fitting = candidate[: rule.longest].strip("-.")
        if len(fitting) >= rule.shortest and rule.pattern.fullmatch(fitting):
            return f"write {fitting!r}"
    return "use only the allowed characters"
