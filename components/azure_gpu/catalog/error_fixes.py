"""Fixes for Azure's errors whose text doesn't say what to do."""

from typing import NamedTuple

from azure_gpu.catalog import policies


class KnownError(NamedTuple):
    """An error that is known by its text."""

    parts: tuple[str, ...]
    """Texts that the error contains, all of them, in lower case."""
    fix: str
    source: str


KNOWN_ERRORS = (
    KnownError(
        ("tasksoperationsnotallowed",),
        "this registry isn't allowed to build images: ask Azure's support to allow it (https://aka.ms/azuresupport), or build "
        "the image elsewhere, push it, and set `image: <registry>/<name>@sha256:<digest>` instead of `workload`",
        "Azure-Samples/azure-search-openai-demo issue 2220 (2024-12-10); microsoft-foundry-for-vscode issue 516 (2026-04)",
    ),
    KnownError(
        ("failed to download context",),
        "the registry can't read the repository without a login, or the commit isn't there: set `image_source: upload`, which "
        "builds from the files here",
        "Azure/azure-cli issue 25765 (2023-03-12); MicrosoftDocs/azure-docs issue 76450 (2021-06-05)",
    ),
    KnownError(
        ("toomanyrequests",),
        "Docker Hub's limit for anonymous pulls is reached: retry in some hours, or use a base image of another registry, such "
        "as mcr.microsoft.com",
        "MicrosoftLearning/mslearn-azure-ai issue 125 (2026-03-26); azure-search-openai-demo issue 3101 (2026-06-18)",
    ),
    KnownError(
        ("registryerrorresponse",),
        "the image's registry doesn't answer Container Instances, on Docker Hub often because of its limit for anonymous pulls: "
        "retry later, or use an image of your own registry or of mcr.microsoft.com",
        "Azure/azure-cli issue 29300 (2024-07-02); alan-turing-institute/data-safe-haven issue 1984",
    ),
    KnownError(
        ("roleassignmentexists",),
        "this role is already assigned; the check before creation finds this if identity and scope are both `existing`, and "
        "role assignments and the stack's state can be read; `assign_roles: false` leaves assignments to others, and lists them",
        "Microsoft Learn, role-based-access-control/troubleshooting",
    ),
    KnownError(
        ("does not have pull permission on the registry",),
        "assign the deployment's identity the role that pulls from the registry; if it was just assigned, retry in some minutes",
        "Microsoft Learn, machine-learning/how-to-troubleshoot-online-endpoints, Authorization error (2026-11)",
    ),
    KnownError(
        ("customprivatednszonemissingpermission",),
        "assign the cluster's identity Network Contributor on the virtual network and Private DNS Zone Contributor on the zone; "
        "if they were just assigned, retry in some minutes",
        "MicrosoftDocs/azure-aks-docs, articles/aks/private-clusters.md (2026-08-21)",
    ),
    *(
        KnownError(
            parts,
            "a deleted log workspace keeps its name for 14 days: create it in its former region, which restores it, and "
            "delete it permanently with `az monitor log-analytics workspace delete --force`; or use another name",
            source,
        )
        for parts, source in (
            (("workspace name is already in use",), "Microsoft Learn, azure-monitor/logs/delete-workspace (2023-07-30)"),
            (("the workspace name", "is not unique"), "MicrosoftDocs/azure-docs issue 41719"),
        )
    ),
    KnownError(
        ("is already used in diagnostic setting",),
        "a policy sends the same logs to the same workspace already: set foundation.log_workspace.diagnostics: policy, by which "
        "the stack creates no diagnostic setting",
        "Azure/bicep-registry-modules issue 3407; Azure/Community-Policy issue 188",
    ),
    KnownError(
        ("scopelocked",),
        "a lock in Azure keeps what it names, and its roles: if it is this stack's, set lock_data: false, run `up`, and then "
        "delete it; if not, ask its owner",
        "Microsoft Learn, azure-resource-manager/management/lock-resources; MicrosoftDocs/azure-docs issue 110791 (2023-06-12)",
    ),
    KnownError(
        ("not associated with a valid offer type",),
        "this subscription's offer doesn't support budgets in Azure, or the subscription is less than 48 hours old: set "
        "`budget.in_azure: false`, which keeps the budget for `operations review` only",
        "Azure/azure-powershell issue 11642 (2021-05-03); Microsoft Learn, cost-management-billing/costs/"
        "tutorial-acm-create-budgets (2020-05-27)",
    ),
    KnownError(
        ("requestdisallowedbyazure",),
        "Azure has closed this region to this subscription, as it does to new ones and to those of students, West Europe among "
        "them: run `down`, which removes what is there already, and set `location` to another region, or request access to this "
        "one (https://aka.ms/locationineligible)",
        "Azure/azure-cli issue 32913 (2026-03-05); Azure/static-web-apps issue 1709 (2025-12-02)",
    ),
    KnownError(
        ("requestdisallowedbypolicy",),
        "an Azure policy denies it: change what the message names, or ask the policy's owner for an exemption",
        "Microsoft Learn, azure-resource-manager/troubleshooting/error-policy-requestdisallowedbypolicy",
    ),
    KnownError(
        ("linkedauthorizationfailed", "ddosprotectionplans/join/action"),
        "a policy of the company (Enable-DDoS-VNET) adds its DDoS plan to each new network, and you may not join the plan: have "
        "its owner give you Network Contributor on it, or use a network that exists, by the ids of its subnets in "
        "foundation.network.subnets",
        "Azure/Enterprise-Scale issue 1053 (2022-09-16); Azure/azure-policy, policyDefinitions/Network/"
        "VirtualNetworkDdosStandard_Audit.json at 04a62e15",
    ),
    *(
        KnownError(
            (part,),
            "ask for the role that allows the action, such as Contributor on the resource group",
            "Microsoft Learn, role-based-access-control/troubleshooting",
        )
        for part in ("authorizationfailed", "does not have authorization")
    ),
)


def fix(text: str) -> str:
    """The fix of an error; empty if the error is unknown."""
    lowered = text.lower()
    if "requestdisallowedbypolicy" in lowered and (answer := policies.denial(text)):
        return answer
    return next((each.fix for each in KNOWN_ERRORS if all(part in lowered for part in each.parts)), "")
