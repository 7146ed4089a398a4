"""What Azure refuses with words that don't say what to do, and what to do then."""

from typing import NamedTuple


class Known(NamedTuple):
    """A refusal that is known by its text."""

    parts: tuple[str, ...]
    """What the text holds, in small letters; all of it."""
    fix: str
    source: str


KNOWN = (
    Known(
        ("tasksoperationsnotallowed",),
        "this registry may not build images: ask Azure's support to permit it (https://aka.ms/azuresupport), or build the image "
        "elsewhere, push it, and give it by its digest instead of `workload`: `image: <registry>/<name>@sha256:<digest>`",
        "Azure-Samples/azure-search-openai-demo issue 2220 (2024-12-10); microsoft-foundry-for-vscode issue 516 (2026-04)",
    ),
    Known(
        ("toomanyrequests",),
        "Docker Hub lets nobody without a login pull more for now: run it again after some hours, or start from an image of "
        "another registry, such as mcr.microsoft.com",
        "MicrosoftLearning/mslearn-azure-ai issue 125 (2026-03-26); azure-search-openai-demo issue 3101 (2026-06-18)",
    ),
    Known(
        ("registryerrorresponse",),
        "the registry of the image doesn't answer Container Instances; of Docker Hub it is often the limit for pulls without a "
        "login: run it again later, or use an image of your own registry or of mcr.microsoft.com",
        "Azure/azure-cli issue 29300 (2024-07-02); alan-turing-institute/data-safe-haven issue 1984",
    ),
    Known(
        ("roleassignmentexists",),
        "somebody has assigned this role already: where identity and scope are both `existing` this is seen before, unless role "
        "assignments or the stack's state can't be read; `assign_roles: false` leaves roles to whoever did, and lists them",
        "Microsoft Learn, role-based-access-control/troubleshooting",
    ),
    Known(
        ("does not have pull permission on the registry",),
        "the identity that the deployment speaks as needs the role that pulls from the registry; where that is new, run it again "
        "in some minutes",
        "Microsoft Learn, machine-learning/how-to-troubleshoot-online-endpoints, Authorization error (2026-11)",
    ),
    Known(
        ("customprivatednszonemissingpermission",),
        "the cluster's identity needs Network Contributor on the virtual network and Private DNS Zone Contributor on the zone; "
        "where both are new, run it again in some minutes",
        "MicrosoftDocs/azure-aks-docs, articles/aks/private-clusters.md (2026-08-21)",
    ),
    Known(
        ("workspace name is already in use",),
        "a deleted log workspace keeps its name for 14 days: create it in the region where it was, which restores it, and "
        "delete it for good with `az monitor log-analytics workspace delete --force`; or use another name",
        "Microsoft Learn, azure-monitor/logs/delete-workspace (2023-07-30)",
    ),
    Known(
        ("not associated with a valid offer type",),
        "the offer of this subscription has no budgets in Azure, and one that is new may have none for 48 hours: set "
        "budget.in_azure: false, with which the amount counts for `operations review` alone",
        "Azure/azure-powershell issue 11642 (2021-05-03); Microsoft Learn, cost-management-billing/costs/"
        "tutorial-acm-create-budgets (2020-05-27)",
    ),
    Known(
        ("requestdisallowedbypolicy",),
        "a policy of your company denies it: change what the message names, or ask the policy's owner for an exemption",
        "Microsoft Learn, azure-resource-manager/troubleshooting/error-policy-requestdisallowedbypolicy",
    ),
    *(
        Known(
            (part,),
            "ask for the role that allows the action, such as Contributor on the resource group",
            "Microsoft Learn, role-based-access-control/troubleshooting",
        )
        for part in ("authorizationfailed", "does not have authorization")
    ),
)


def fix(text: str) -> str:
    """What to do about a refusal; empty where its text isn't known."""
    lowered = text.lower()
    return next((each.fix for each in KNOWN if all(part in lowered for part in each.parts)), "")
