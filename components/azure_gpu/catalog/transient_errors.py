"""Errors of Azure that pass by themselves, and how long to retry."""

import re
from typing import NamedTuple

from azure_gpu.catalog.roles import DELAY_MINUTES

PAUSE_SECONDS = (5.0, 30.0)  # before another attempt: first, and maximum

# Batch's refusal of a request that names what can't change: Azure/Batch issue 85.
CANNOT_BE_UPDATED = "PropertyCannotBeUpdated"
# What the provider says of a create whose resource is there, and the component of one that has appeared behind a refusal.
ALREADY_THERE = "cannot create already existing resource"
APPEARED = "it has appeared behind a refusal"
# Parts of messages about missing permissions. That services use one of them for an identity with a new role is assumed, so they
# are considered only for resources whose roles were assigned just before.
_NO_RIGHT = ("authorization", "forbidden", "permission", "unauthorized", "access denied")


class TransientError(NamedTuple):
    """An error that passes by itself."""

    parts: tuple[str, ...]
    """Regular expressions that all match its text in lower case."""
    why: str
    """The cause, for the user."""
    most_minutes: int

    @property
    def message(self) -> str:
        """For the user, at the first retry."""
        return f"{self.why}; retrying for up to {self.most_minutes} minutes"

    def is_over(self, tried: int) -> bool:
        """Whether the pauses between this number of attempts have reached the time limit."""
        return sum(map(pause, range(1, tried))) >= self.most_minutes * 60


# Operations on a cluster, its pools or an endpoint take 2 to 20 minutes:
# Azure/terraform-azurerm-avm-res-containerservice-managedcluster pull request 160 (2026-02-24); Microsoft Learn,
# machine-learning/how-to-troubleshoot-online-endpoints, 409 (2026-11).
_OPERATION = 30
_NO_PULL = "the role assignment for pulling its image isn't effective yet"
_NO_KEY = "the role assignment on the key that encrypts it isn't effective yet"
TRANSIENT_ERRORS = (
    # No role lets anybody pull from a registry that isn't one of Azure. Azure/azure-cli issue 18596; CompositionalIT/farmer 210
    TransientError(("inaccessibleimage", r"the image '[^'/]+\.azurecr\."), _NO_PULL, DELAY_MINUTES),
    # Azure/container-apps-deploy-action issue 85
    TransientError(
        (r'invalid value: [\\"]*[^"/]+\.azurecr\.', "invalidparametervalueincontainertemplate", "unauthorized"),
        _NO_PULL,
        DELAY_MINUTES,
    ),
    # Azure Service Operator, recording Test_Authorization_RoleAssignment_OnResourceGroup_CRUD (2024-06-11)
    TransientError(("principalnotfound",), "the identity isn't visible in the directory yet", DELAY_MINUTES),
    # MicrosoftDocs/azure-aks-docs, articles/aks/private-clusters.md (2026-08-21)
    TransientError(
        ("customprivatednszonemissingpermission",),
        "the role assignments on its private zone and network aren't effective yet",
        DELAY_MINUTES,
    ),
    # MicrosoftDocs/azure-docs issue 61015 (2020-08-17); hashicorp/terraform-provider-azurerm issue 27817 (2024-10-30)
    TransientError(("failed to access keyid", "unwrap key"), _NO_KEY, DELAY_MINUTES),
    TransientError(("forbiddenbyrbac", "vaults/keys"), _NO_KEY, DELAY_MINUTES),
    # Azure/bicep issue 13851 (2024-04-13); hashicorp/terraform-provider-azurerm issue 19157: also after the resource is added
    TransientError(
        ("privatelinkscopes", "mismatching requiredmembers"), "a resource has just been added to its private link scope", 10
    ),
    # hashicorp/terraform-provider-azurerm issue 22236 (2023-06-21), of resources of a private link scope
    TransientError(
        ("cannot modify resource while in provisioning state",), "another change of its private link scope is in progress", 10
    ),
    # cilium/cilium issue 25944 (2023-06-06)
    TransientError(("operationnotallowed", "in progress"), "another operation on the cluster is in progress", _OPERATION),
    # Azure/azure-sdk-for-net issue 36961 (2023-06-12)
    TransientError(("conflict", "in progress"), "another operation on the endpoint is in progress", _OPERATION),
    # gardenlinux/gardenlinux issue 4133 (2026-01-08), Azure/karpenter-provider-azure issue 92: for 180 seconds, of deletes
    TransientError(
        ("nicreservedforanothervm",), "a network interface stays reserved for a machine that didn't start, for 3 minutes", 4
    ),
    # Of an `up` that was ended before it: microsoft/azure-pipelines-tasks issue 5320 (2018-07-02), microsoft/mwt-ds issue 29.
    TransientError(("deploymentactive",), "the same deployment of an earlier run is in progress", _OPERATION),
)


def find(error: str) -> TransientError | None:
    """The transient error that the text matches; None for any other."""
    text = error.lower()
    return next((each for each in TRANSIENT_ERRORS if all(re.search(part, text) for part in each.parts)), None)


def is_missing_permission(error: str) -> bool:
    """Whether the error is about missing permissions. A denial by Azure Policy names its assignment, whose type contains one of
    the words, and no role changes that."""
    text = error.lower().replace("microsoft.authorization", "")
    return any(part in text for part in _NO_RIGHT)


def pause(tried: int) -> float:
    """Seconds before the next attempt, after this number of attempts."""
    return min(PAUSE_SECONDS[0] * tried, PAUSE_SECONDS[1])
