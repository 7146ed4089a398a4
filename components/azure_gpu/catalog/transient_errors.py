"""What Azure refuses for a while and then takes, and how long to go on trying.

In: the text of an error. Out: which refusal it is, and the pauses between tries.
"""

import re
from typing import NamedTuple

from azure_gpu.catalog.roles import DELAY_MINUTES

PAUSE_SECONDS = (5.0, 30.0)  # before another try: at first, and at most


class Passing(NamedTuple):
    """A refusal that passes by itself."""

    parts: tuple[str, ...]
    """Regular expressions of what its text holds, in small letters; all of it."""
    why: str
    """Why Azure refuses, for the user."""
    most_minutes: int

    @property
    def told(self) -> str:
        """What is said when it is tried again."""
        return f"{self.why}; it is tried again for up to {self.most_minutes} minutes"

    def is_over(self, tried: int) -> bool:
        """Whether the pauses between so many tries have taken as long as it may last."""
        return sum(map(pause, range(1, tried))) >= self.most_minutes * 60


# Operations on a cluster, its pools or an endpoint take 2 to 20 minutes:
# Azure/terraform-azurerm-avm-res-containerservice-managedcluster pull request 160 (2026-02-24); Microsoft Learn,
# machine-learning/how-to-troubleshoot-online-endpoints, 409 (2026-11).
_OPERATION = 30
_NO_PULL = "the role by which its image is pulled doesn't work yet"
PASSING = (
    # No role lets anybody pull from a registry that isn't one of Azure. Azure/azure-cli issue 18596; CompositionalIT/farmer 210
    Passing(("inaccessibleimage", r"the image '[^'/]+\.azurecr\."), _NO_PULL, DELAY_MINUTES),
    # Azure/container-apps-deploy-action issue 85
    Passing(
        (r'invalid value: [\\"]*[^"/]+\.azurecr\.', "invalidparametervalueincontainertemplate", "unauthorized"),
        _NO_PULL,
        DELAY_MINUTES,
    ),
    # Azure Service Operator, recording Test_Authorization_RoleAssignment_OnResourceGroup_CRUD (2024-06-11)
    Passing(("principalnotfound",), "the directory doesn't know the identity yet", DELAY_MINUTES),
    # MicrosoftDocs/azure-aks-docs, articles/aks/private-clusters.md (2026-08-21)
    Passing(
        ("customprivatednszonemissingpermission",), "the roles on its private zone and network don't work yet", DELAY_MINUTES
    ),
    # cilium/cilium issue 25944 (2023-06-06)
    Passing(("operationnotallowed", "in progress"), "another change of the cluster is under way", _OPERATION),
    # Azure/azure-sdk-for-net issue 36961 (2023-06-12)
    Passing(("conflict", "in progress"), "another change of the endpoint is under way", _OPERATION),
    # Of an `up` that was ended before it: microsoft/azure-pipelines-tasks issue 5320 (2018-07-02), microsoft/mwt-ds issue 29.
    Passing(("deploymentactive",), "the same deployment of an earlier run is under way", _OPERATION),
)


def find(error: str) -> Passing | None:
    """Which one an error is; None for any other."""
    text = error.lower()
    return next((each for each in PASSING if all(re.search(part, text) for part in each.parts)), None)


def pause(tried: int) -> float:
    """Seconds before the next try, after so many."""
    return min(PAUSE_SECONDS[0] * tried, PAUSE_SECONDS[1])
