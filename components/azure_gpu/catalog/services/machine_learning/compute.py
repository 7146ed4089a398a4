"""Rules for computes of an Azure Machine Learning workspace: a cluster's scale, an attached machine, and kinds of compute."""

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import durations, lifecycle
from azure_gpu.catalog.lifecycle import WARNING_DAYS, Lifecycle
from azure_gpu.catalog.problems import Code, Problem, Severity, impossible
from azure_gpu.catalog.services.machine_learning.clients import CLIENTS, Client
from azure_gpu.catalog.services.machine_learning.sizes import EOL, TARGETS_PAGE
from azure_gpu.catalog.sources import INFERENCE_ARTICLE, WORKBENCH_ARTICLE, Dated, Source

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
AKS_COMPUTE = Lifecycle(seen=INFERENCE_ARTICLE, end=CLIENTS[Client.SDK_V1].lifecycle.end)


def is_duration(text: str) -> bool:
    """Whether the text is a duration as ISO 8601 writes it: PT120S, P1DT2H."""
    return durations.read(text) is not None and not text.startswith("-")


class ClusterRequest(NamedTuple):
    """A cluster (AmlCompute), and where each value was written. Its size is checked by `machine_learning.size_problems`."""

    minimum_path: str
    maximum_path: str
    idle_path: str
    priority_path: str
    image_path: str
    minimum_nodes: int = 0
    maximum_nodes: int | None = None  # needed
    idle_time: str | None = None  # before a node is taken away, ISO 8601; None: the service's own
    priority: str = DEDICATED
    windows: bool = False
    own_image: bool = False  # a virtualMachineImage is given


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
    port_path: str
    windows: bool = False
    ssh_port: int = SSH_PORT


def cluster_problems(request: ClusterRequest, as_of: date) -> list[Problem]:
    """All problems of the cluster on that day."""
    problems = list(_scale(request))
    if request.idle_time is not None and not is_duration(request.idle_time):
        problems.append(
            _refused(
                request.idle_path,
                "not a valid ISO 8601 duration",
                request.idle_time,
                "such as PT120S or PT15M",
                "write PT120S for two minutes",
            )
        )
    if request.priority not in PRIORITIES:
        allowed = ", ".join(PRIORITIES)
        problems.append(
            _refused(request.priority_path, "unknown priority of nodes", request.priority, allowed, f"write {DEDICATED}")
        )
    if request.priority == LOW_PRIORITY:
        problems += _low_priority(request.priority_path, as_of)
    if request.own_image and not request.windows:
        problems.append(
            _refused(
                request.image_path,
                "a custom image is supported for Windows nodes only",
                None,
                "no image with Linux nodes",
                "leave the image out, and add what the work needs to the job's environment",
            )
        )
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
    if not 1 <= request.ssh_port <= 65535:
        problems.append(_refused(request.port_path, "not a valid port", request.ssh_port, "1 to 65535", f"write {SSH_PORT}"))
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
