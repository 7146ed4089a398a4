"""Azure Machine Learning's workspaces, clients and computes: sizes of clusters and instances, scale, attached machines, and what
Azure keeps of a deleted workspace.

Azure says that it doesn't support every size, and lists them by API only, so a series that no page names is a warning. The rules
for a stack file's workspace are in `ml.workspace.rules`.
"""

from collections.abc import Iterator
from datetime import date
from typing import Literal, NamedTuple

from azure_gpu.catalog import lifecycle, lifecycle_tables, listed, tables
from azure_gpu.catalog.lifecycle import WARNING_DAYS, Lifecycle, Status
from azure_gpu.catalog.problems import Code, Problem, Severity, impossible, not_listed
from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import INFERENCE_ARTICLE, WORKBENCH_ARTICLE, Dated, Source

_PAGE = "Microsoft Learn, machine-learning/concept-compute-target"
TARGETS_PAGE = Source(_PAGE, Dated.OBSERVED, date(2024, 1, 23))
EOL = Source("Azure/EOL, service_list.json", Dated.OBSERVED, date(2025, 12, 18))


# NCv3 and NVv3 have no end of their own here: they end with the machines.
COMPUTE_SERIES = lifecycle_tables.of_series(tables.beside(__file__, "compute_series.csv"))


def size_problems(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    """The problems of the size in clusters, instances or managed endpoints, whichever the use names."""
    if use.service is Service.ML_ENDPOINT:
        yield from endpoints.size_problems(size, use, as_of)
        return
    if size.lifecycle.status(as_of, use.region) is not Status.RETIRED:  # else its retirement is reported
        yield from _series(size, use, as_of)


def _series(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    known = COMPUTE_SERIES.get(size.series.name)
    if known is None and listed.has(listed.Azure.ML_SIZES, use.region, size.name):
        return
    if known is None:
        what = f"the series {size.series.name} in Azure Machine Learning compute"
        yield not_listed(
            use.path,
            what,
            use.size,
            listed.since(listed.Azure.ML_SIZES, use.region, TARGETS_PAGE),
            "list a region's sizes with `az ml compute list-sizes`",
        )
        return
    what = f"the series {size.series.name} in Azure Machine Learning compute"
    yield from lifecycle.check(known, what, as_of, path=use.path, value=use.size, region=use.region)


_WORKBENCH_END = Source(
    "MicrosoftDocs/azure-docs, articles/machine-learning/service/overview-what-happened-to-workbench.md",
    Dated.VALID_FROM,
    date(2019, 1, 9),
)
_WORKBENCH_NOTICE = Source(_WORKBENCH_END.where, Dated.OBSERVED, date(2018, 12, 4))
_EXAMPLES = Source("Azure/azureml-examples, cli/resources/compute", Dated.OBSERVED, date(2021, 11, 30))
_CLI_AND_SDK_V2 = Source("Microsoft Learn, machine-learning/concept-compute-target", Dated.OBSERVED, date(2024, 1, 23))


def _eol(year: int, month: int, day: int, updates: str = "") -> Source:
    """The last day by the list of ends; `updates` are the ids of Azure's own announcements."""
    where = f"{EOL.where}, and azure.microsoft.com/updates, ids {updates}" if updates else EOL.where
    return Source(where, Dated.VALID_FROM, date(year, month, day))


Client = Literal[
    "Workbench",  # with its own `az ml computetarget attach remotedocker` and `az ml experiment submit`
    "SDK v1",  # azureml-core: AksCompute, Model.deploy, InferenceConfig, Model.get_model_path
    "CLI v1",  # the extension azure-cli-ml
    "SDK v2",  # azure-ai-ml
    "CLI v2",  # the extension ml
    "preview features",
    "batch endpoint preview APIs",
]
"""Clients of Azure Machine Learning, for people and programs."""


class _Row(NamedTuple):
    lifecycle: Lifecycle
    successors: tuple[Client, ...] = ()  # best first; only those of the day are named
    now: str = ""  # what to do with them


_V2 = ("CLI v2", "SDK v2")

CLIENTS: dict[Client, _Row] = {
    "Workbench": _Row(
        Lifecycle(seen=WORKBENCH_ARTICLE, announced=_WORKBENCH_NOTICE, end=_WORKBENCH_END),
        (*_V2, "SDK v1", "CLI v1"),
        "submit a job to a compute cluster, or attach the machine to the workspace as compute",
    ),
    "SDK v1": _Row(
        Lifecycle(seen=INFERENCE_ARTICLE, announced=EOL, end=_eol(2026, 6, 30, "486238 and 501668")),
        ("SDK v2", "CLI v2"),
        "attach the cluster as Kubernetes compute, deploy to online endpoints, find the model by AZUREML_MODEL_DIR",
    ),
    "CLI v1": _Row(Lifecycle(seen=_WORKBENCH_NOTICE, end=_eol(2025, 9, 30)), _V2, "use `az ml` of version 2"),
    "SDK v2": _Row(Lifecycle(seen=_CLI_AND_SDK_V2)),
    "CLI v2": _Row(Lifecycle(seen=_EXAMPLES)),
    "preview features": _Row(Lifecycle(seen=EOL, preview=True, announced=EOL, end=_eol(2026, 3, 31)), _V2, "use what is general"),
    "batch endpoint preview APIs": _Row(
        Lifecycle(seen=EOL, preview=True, announced=EOL, end=_eol(2026, 3, 16)), _V2, "use an API version that is general"
    ),
}


PROVIDER = Source("pulumi-azure-native 3.29.0, machinelearningservices 2025-12-01", Dated.OBSERVED, date(2026, 11, 20))
_NO_WORD_SINCE = Source(f"{TARGETS_PAGE.where} is the last page that names remote machines", Dated.OBSERVED, date(2026, 11, 20))

MANAGED_NETWORK = Source("Microsoft Learn, machine-learning/how-to-managed-network", Dated.OBSERVED, date(2024, 8, 29))
IN_A_NETWORK = Source("Microsoft Learn, machine-learning/how-to-secure-training-vnet", Dated.OBSERVED, date(2023, 4, 14))
NO_PUBLIC_ADDRESS = Source(
    "Microsoft Learn, machine-learning/v1/how-to-secure-training-vnet; hashicorp/terraform-provider-azurerm issue 25901",
    Dated.OBSERVED,
    date(2024, 5, 8),
)

DEDICATED = "Dedicated"
LOW_PRIORITY = "LowPriority"
PRIORITIES = (DEDICATED, LOW_PRIORITY)
# Clusters of this priority still pass validation and run; their nodes are Spot machines, with Spot's price and evictions.
LOW_PRIORITY_END = Source(f"{EOL.where}, and azure.microsoft.com/updates?id=501658", Dated.VALID_FROM, date(2026, 3, 31))
SPOT_INSTEAD = Source("MicrosoftDocs/azure-ai-docs pull requests 791 and 806", Dated.OBSERVED, date(2026, 8, 19))
LEGACY_AKS = "AKS"
KUBERNETES = "Kubernetes"
CLUSTER = "AmlCompute"
INSTANCE = "ComputeInstance"
COMPUTE_KINDS = (LEGACY_AKS, KUBERNETES, CLUSTER, INSTANCE, "VirtualMachine")
SSH_PORT = 22
SERVICE_TAG = "AzureMachineLearning"  # the service's own addresses, as rules of networks name them


# Attached machines: the second source document has one; no source says whether the service still supports them.
ATTACHED_MACHINE = Lifecycle(seen=WORKBENCH_ARTICLE, doubt=_NO_WORD_SINCE)
# AKS as a kind of compute is of version 1 and ends with its SDK.
AKS_COMPUTE = Lifecycle(seen=INFERENCE_ARTICLE, end=CLIENTS["SDK v1"].lifecycle.end)


class ClusterRequest(NamedTuple):
    """A cluster (AmlCompute), and where each value was written. Its size is checked by `machine_learning.size_problems`."""

    minimum_path: str
    maximum_path: str
    priority_path: str
    minimum_nodes: int = 0
    maximum_nodes: int | None = None  # needed
    priority: str = DEDICATED


class MachineRequest(NamedTuple):
    """A virtual machine that is attached to the workspace, and where each value was written. Secrets themselves stay outside."""

    address: str
    user_name: str
    has_password: bool
    has_private_key: bool
    path: str
    address_path: str
    user_path: str
    system_path: str
    windows: bool = False


def cluster_problems(request: ClusterRequest, as_of: date) -> list[Problem]:
    """All problems of the cluster on that day."""
    problems = list(_scale(request))
    if request.priority not in PRIORITIES:
        allowed = ", ".join(PRIORITIES)
        problems.append(
            _refused(request.priority_path, "unknown priority of nodes", request.priority, allowed, f"write {DEDICATED}")
        )
    if request.priority == LOW_PRIORITY:
        problems += _low_priority(request.priority_path, as_of)
    return problems


def _low_priority(path: str, as_of: date) -> Iterator[Problem]:
    """A warning near its end; not an error, because its machines become Spot machines."""
    if not 0 <= (LOW_PRIORITY_END.day - as_of).days <= WARNING_DAYS:
        return
    yield Problem(
        path=path,
        message=f"low priority in Azure Machine Learning compute retires on {LOW_PRIORITY_END.day.isoformat()}; "
        "from then on its machines are Spot machines",
        value=LOW_PRIORITY,
        fix="no change needed; Spot prices vary, and Spot machines can be evicted at any time",
        source=f"{LOW_PRIORITY_END}; {SPOT_INSTEAD}",
        code=Code.RETIRING,
        severity=Severity.WARNING,
    )


def _scale(request: ClusterRequest) -> Iterator[Problem]:
    least, most = request.minimum_nodes, request.maximum_nodes
    if most is None:
        yield _refused(request.maximum_path, "a cluster requires a maximum number of nodes", None, "1 or more", "add it")
    elif most < 1:
        yield _refused(request.maximum_path, "the maximum number of nodes is below 1", most, "1 or more", "write 1")
    if least < 0:
        yield _refused(request.minimum_path, "the minimum number of nodes is below 0", least, "0 or more", "write 0")
    if most is not None and least > most:
        yield _refused(
            request.minimum_path, f"the minimum number of nodes is above the maximum, {most}", least, f"0 to {most}", "write 0"
        )


def _refused(path: str, message: str, value: object, allowed: str, fix: str) -> Problem:
    return impossible(path, message, value, allowed, fix, PROVIDER)


def machine_problems(request: MachineRequest, as_of: date) -> list[Problem]:
    """All problems of the machine as compute on that day."""
    problems = lifecycle.check(
        ATTACHED_MACHINE,
        "a virtual machine attached as compute",
        as_of,
        path=request.path,
        value=request.address,
        fix="use a compute cluster with at most 1 node",
        instead=("AmlCompute",),
    )
    if not request.address:
        problems.append(
            _refused(request.address_path, "the machine's address is missing", "", "an IP address or a name", "add it")
        )
    if not request.user_name or not (request.has_password or request.has_private_key):
        problems.append(
            _refused(
                request.user_path,
                "the service signs in by SSH and requires a user with a password or a private key",
                request.user_name or None,
                "a user name with one of the two",
                "add what is missing",
            )
        )
    if request.windows:
        problems.append(
            _refused(request.system_path, "only Ubuntu machines can be attached", "Windows", "Ubuntu", "choose an Ubuntu image")
        )
    return problems


def kind_problems(kind: str, as_of: date, *, path: str) -> list[Problem]:
    """The problems of a kind of compute on that day: `AKS` is of version 1, and `Kubernetes` took its place."""
    if kind not in COMPUTE_KINDS:
        return [_refused(path, "unknown kind of compute for GPUs", kind, ", ".join(COMPUTE_KINDS), f"write {KUBERNETES}")]
    if kind != LEGACY_AKS:
        return []
    return lifecycle.check(
        AKS_COMPUTE,
        "compute of the kind AKS, which version 2 of Azure Machine Learning refuses for its endpoints,",
        as_of,
        path=path,
        value=kind,
        fix="attach the cluster as Kubernetes compute, with the extension Microsoft.AzureML.Kubernetes on it",
        instead=(KUBERNETES,),
    )


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
