"""What Azure refuses for a while and then takes: a hook by which the engine tries such a resource again.

Waiting is paid only where Azure refuses, and only once: what is there isn't created again. Everything else that Azure refuses
fails at once, as it does without the hook.
"""

import asyncio
import re
from typing import NamedTuple

import pulumi

from azure_gpu.catalog import refusals
from azure_gpu.catalog.roles import DELAY_MINUTES
from azure_gpu.shared.hooks import called, kind

PAUSE_SECONDS = (5.0, 30.0)  # before another try: at first, and at most


class Passing(NamedTuple):
    """A refusal that passes by itself."""

    parts: tuple[str, ...]
    """Regular expressions of what its text holds, in small letters; all of it."""
    why: str
    """Why Azure refuses, for the user."""
    most_minutes: int


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


# What a refusal says where somebody lacks a right. That services say one of these of an identity whose role is new is assumed, so
# that it is asked only of a component whose roles were assigned in the same run.
_NO_RIGHT = ("authorization", "forbidden", "permission", "unauthorized", "access denied")
_NEW_ROLES = Passing((), "its roles are new, and don't work yet", DELAY_MINUTES)


class NewRoles:
    """Whether a run has assigned roles for `component`: before they work, what needs them is refused for want of a right."""

    def __init__(self, component: pulumi.Resource) -> None:
        self.assigned = False
        self.hooks: pulumi.ResourceHookBinding | None = None
        """For the assignments."""
        if called():
            name = f"{kind(component)}-{component.pulumi_resource_name}-assigned"
            self.hooks = pulumi.ResourceHookBinding(after_create=[pulumi.ResourceHook(name, self._note)])

    def _note(self, _: pulumi.ResourceHookArgs) -> None:
        self.assigned = True


def hooks(component: pulumi.Resource, roles: NewRoles | None = None) -> pulumi.ResourceHookBinding | None:
    """For resources of `component`, which calls this once: its hook has a name. `roles`: those that its resources need."""
    if not called():
        return None

    async def again(args: pulumi.ErrorHookArgs) -> bool:
        tried = len(args.errors)
        passing = find(args.errors[0]) if tried else None
        if tried and passing is None and roles is not None and roles.assigned and wants_a_right(args.errors[0]):
            passing = _NEW_ROLES
        if tried == 1 and passing is None and (fix := refusals.fix(args.errors[0])):
            pulumi.log.warn(f"{args.name}: {fix}", component)
        if passing is None:
            return False
        if sum(map(pause, range(1, tried))) >= passing.most_minutes * 60:
            text = f"{args.name}: {passing.why}, after {passing.most_minutes} minutes; the next up goes on"
            pulumi.log.warn(text, component)
            return False
        if tried == 1:
            pulumi.log.info(f"{args.name}: {passing.why}; it is tried again for up to {passing.most_minutes} minutes", component)
        await asyncio.sleep(pause(tried))
        return True

    return pulumi.ResourceHookBinding(
        on_error=[pulumi.ErrorHook(f"{kind(component)}-{component.pulumi_resource_name}-again", again)]
    )


def find(error: str) -> Passing | None:
    """Which one an error is; None for any other."""
    text = error.lower()
    return next((each for each in PASSING if all(re.search(part, text) for part in each.parts)), None)


def wants_a_right(error: str) -> bool:
    """Whether somebody lacks a right, by what the error says. A policy that denies names its assignment, whose type holds one of
    the words, and no role changes that."""
    text = error.lower().replace("microsoft.authorization", "")
    return any(part in text for part in _NO_RIGHT)


def pause(tried: int) -> float:
    """Seconds before the next try, after so many."""
    return min(PAUSE_SECONDS[0] * tried, PAUSE_SECONDS[1])
