"""Facts about Azure Machine Learning workspaces, their key vaults and networks: retention of deleted ones, private DNS zones.

The rules for a stack file's workspace are in `ml.workspace.rules`.
"""

from datetime import date

from azure_gpu.catalog.sources import Dated, Source

IDENTITY = Source(
    "Microsoft Learn, machine-learning/how-to-identity-based-service-authentication", Dated.OBSERVED, date(2025, 6, 10)
)
VAULT = Source("pulumi-azure-native 3.29.0, keyvault 2024-11-01", Dated.OBSERVED, date(2026, 11, 20))
PRIVATE_ZONES_PAGE = Source(
    "MicrosoftDocs/azure-docs, articles/private-link/private-endpoint-dns.md", Dated.OBSERVED, date(2026, 7, 16)
)
PRIVATE_LINK_PAGE = Source(
    "Microsoft Learn, machine-learning/how-to-configure-private-link, whose warning names the storage account",
    Dated.OBSERVED,
    date(2026, 11, 25),
)

PRIVATE_ZONES = ("privatelink.api.azureml.ms", "privatelink.notebooks.azure.net")  # that a private endpoint's address goes into
KEPT_DAYS = 14  # for which a deleted workspace can be recovered, and its name is taken
VAULT_KEPT_DAYS = (7, 90)  # for which a deleted vault can be
