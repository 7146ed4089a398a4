"""Azure Machine Learning's workspaces and computes: sizes of clusters and instances, scale, attached machines, and what
Azure keeps of a deleted workspace.

Azure says that it doesn't support every size, and lists them by API only, so a series that no page names is a warning. The rules
for a stack file's workspace are in `ml.workspace.rules`.
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import lifecycle, listed, tables
from azure_gpu.catalog.lifecycle import WARNING_DAYS, Status
from azure_gpu.catalog.problems import Problem, not_listed
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import observed, valid_from

_PAGE = "Microsoft Learn, machine-learning/concept-compute-target"
TARGETS_PAGE = observed(_PAGE, 2024, 1, 23)
EOL = observed("Azure/EOL, service_list.json", 2025, 12, 18)


# NCv3 and NVv3 have no end of their own here: they end with the machines.
COMPUTE_SERIES = lifecycle.of_series(tables.beside(__file__, "compute_series.csv"))


def size_problems(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    """The problems of the size in clusters, instances or managed endpoints, whichever the use names."""
    if use.service is Service.ML_ENDPOINT:
        yield from endpoints.size_problems(size, use, as_of)
        return
    if size.lifecycle.status(as_of, use.region) is not Status.RETIRED:  # else its retirement is reported
        yield from _series(size, use, as_of)


def _series(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    known = COMPUTE_SERIES.get(size.series.name)
    if known is None and listed.has("VM sizes of Azure Machine Learning", use.region, size.name):
        return
    if known is None:
        what = f"the series {size.series.name} in Azure Machine Learning compute"
        yield not_listed(
            use.path,
            what,
            use.size,
            listed.since("VM sizes of Azure Machine Learning", use.region, TARGETS_PAGE),
            "list a region's sizes with `az ml compute list-sizes`",
        )
        return
    what = f"the series {size.series.name} in Azure Machine Learning compute"
    yield from lifecycle.check(known, what, as_of, path=use.path, value=use.size, region=use.region)


DEDICATED = "Dedicated"
LOW_PRIORITY = "LowPriority"
# Clusters of this priority still pass validation and run; their nodes are Spot machines, with Spot's price and evictions.
LOW_PRIORITY_END = valid_from(f"{EOL.where}, and azure.microsoft.com/updates?id=501658", 2026, 3, 31)
LEGACY_AKS = "AKS"
KUBERNETES = "Kubernetes"
CLUSTER = "AmlCompute"
INSTANCE = "ComputeInstance"
COMPUTE_KINDS = (LEGACY_AKS, KUBERNETES, CLUSTER, INSTANCE, "VirtualMachine")
SSH_PORT = 22
SERVICE_TAG = "AzureMachineLearning"  # the service's own addresses, as rules of networks name them


def scale_problems(least: int, most: int, path: str) -> Iterator[Problem]:
    """All problems of the numbers of nodes of a cluster at `path`. Its size is checked by `size_problems`."""
    if most < 1:
        yield refused("ml.maximum_too_small", f"{path}.max_nodes", most)
    if least < 0:
        yield refused("ml.negative_minimum", f"{path}.min_nodes", least)
    if least > most:
        yield refused("ml.minimum_above_maximum", f"{path}.min_nodes", least, most=most)


def spot_problems(path: str, as_of: date) -> Iterator[Problem]:
    """A warning near the end of low priority; not an error, because its machines become Spot machines."""
    if 0 <= (LOW_PRIORITY_END.day - as_of).days <= WARNING_DAYS:
        yield refused("ml.low_priority", path, True, low_priority_end=LOW_PRIORITY_END)


def machine_problems(address: str, as_of: date, *, path: str) -> list[Problem]:
    """All problems of a virtual machine as compute on that day."""
    return lifecycle.of_part("ml.attached_machine", as_of, path, address)


def kind_problems(kind: str, as_of: date, *, path: str) -> list[Problem]:
    """The problems of a kind of compute on that day: `AKS` is of version 1, and `Kubernetes` took its place."""
    if kind not in COMPUTE_KINDS:
        return [refused("ml.unknown_compute", path, kind, allowed=", ".join(COMPUTE_KINDS), kubernetes=KUBERNETES)]
    return lifecycle.of_part("ml.aks_compute", as_of, path, kind) if kind == LEGACY_AKS else []


PRIVATE_ZONES_PAGE = observed("MicrosoftDocs/azure-docs, articles/private-link/private-endpoint-dns.md", 2026, 7, 16)

PRIVATE_ZONES = ("privatelink.api.azureml.ms", "privatelink.notebooks.azure.net")  # that a private endpoint's address goes into
KEPT_DAYS = 14  # for which a deleted workspace can be recovered, and its name is taken
VAULT_KEPT_DAYS = (7, 90)  # for which a deleted vault can be
