"""What a workspace of Azure Machine Learning takes, with the vault that it keeps secrets in and the network of its machines.

limits, and `FACTS` that no rule decides by. What speaks against a stack file's workspace is said in
`ml.workspace.rules`.
"""

from datetime import date

from azure_gpu.catalog.facts import Fact
from azure_gpu.catalog.services.machine_learning.compute import MANAGED_NETWORK, PROVIDER
from azure_gpu.catalog.sources import Dated, Source

SOFT_DELETE = Source("Microsoft Learn, machine-learning/concept-soft-delete", Dated.OBSERVED, date(2025, 10, 31))
IDENTITY = Source(
    "Microsoft Learn, machine-learning/how-to-identity-based-service-authentication", Dated.OBSERVED, date(2025, 6, 10)
)
VAULT = Source("pulumi-azure-native 3.29.0, keyvault 2024-11-01", Dated.OBSERVED, date(2026, 11, 20))

KEPT_DAYS = 14  # for which a deleted workspace can be recovered, and its name is taken
VAULT_KEPT_DAYS = (7, 90)  # for which a deleted vault can be

FACTS: tuple[Fact, ...] = (
    Fact("deleted workspace", f"kept {KEPT_DAYS} days; its name is taken until then, or until it is destroyed", SOFT_DELETE),
    Fact("deleted workspace: what is gone at once", "computes, endpoints, running jobs and role assignments", SOFT_DELETE),
    Fact("deleted vault", f"kept {VAULT_KEPT_DAYS[0]} to {VAULT_KEPT_DAYS[1]} days, as it was created; its name is taken", VAULT),
    Fact("purge protection of a vault", "for good; nobody destroys the vault before its time", VAULT),
    Fact("identity: workspace", "Contributor on itself", IDENTITY),
    Fact("identity: storage", "Contributor, and Storage Blob Data Contributor", IDENTITY),
    Fact("identity: vault", "Contributor, and Key Vault Administrator where roles say who may what", IDENTITY),
    Fact("identity: registry and Application Insights", "Contributor", IDENTITY),
    Fact("identity of machines", "one of the system's, or several of the user's, the first of which pulls images", IDENTITY),
    Fact(
        "managed network",
        "made with the first machine, in about 30 minutes; never taken back, only made stricter",
        MANAGED_NETWORK,
    ),
    Fact("managed network: costs", "private endpoints, and an Azure Firewall as soon as a rule names a host", MANAGED_NETWORK),
    Fact(
        "managed network: identity",
        "Azure AI Enterprise Network Connection Approver, where it is the user's own",
        MANAGED_NETWORK,
    ),
    Fact("addresses that may reach a workspace", "no property of API 2025-12-01 names them", PROVIDER),
)
