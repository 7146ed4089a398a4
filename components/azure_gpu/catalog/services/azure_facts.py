"""What is known of Azure, its clients and its images that belongs to no one service with GPUs, and that no rule decides by.

`FACTS`, for the documentation and for the parts that meet these.
"""

from datetime import date

from azure_gpu.catalog.facts import Fact
from azure_gpu.catalog.sources import FACTS_DAY, Dated, Source

FACTS: tuple[Fact, ...] = (
    Fact(
        "image builds in a new subscription",
        "Container Registry may refuse them with TasksOperationsNotAllowed until support allows them",
        Source(
            "Azure-Samples/azure-search-openai-demo issue 2220, MicrosoftDocs/azure-aks-docs issue 112", Dated.OBSERVED, FACTS_DAY
        ),
    ),
    Fact(
        "storage.Blob of pulumi-azure-native",
        "fails on an account without shared keys; a client that signs on by identity has to upload",
        Source("pulumi/pulumi-azure-native issues 2015 and 2948", Dated.OBSERVED, FACTS_DAY),
    ),
    Fact(
        "az group deployment create",
        "the first source document's command; still in Azure CLI 2.91, hidden and deprecated, for az deployment group create",
        Source("Azure CLI 2.91.0", Dated.OBSERVED, FACTS_DAY),
    ),
    Fact(
        "the tag latest of NVIDIA's CUDA images on Docker Hub",
        "gone: images are named by a version",
        Source("MicrosoftDocs/azure-aks-docs, pages that pull from Docker Hub", Dated.OBSERVED, date(2026, 5, 31)),
    ),
)
