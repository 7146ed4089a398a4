"""The clients and previews of Azure Machine Learning, with their dates and successors."""

from datetime import date
from enum import StrEnum
from typing import NamedTuple

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.lifecycle import Lifecycle, Status
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.machine_learning.sizes import EOL
from azure_gpu.catalog.sources import INFERENCE_ARTICLE, WORKBENCH_ARTICLE, Dated, Source

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


class Client(StrEnum):
    """Clients of Azure Machine Learning, for people and programs."""

    WORKBENCH = "Workbench"  # with its own `az ml computetarget attach remotedocker` and `az ml experiment submit`
    SDK_V1 = "SDK v1"  # azureml-core: AksCompute, Model.deploy, InferenceConfig, Model.get_model_path
    CLI_V1 = "CLI v1"  # the extension azure-cli-ml
    SDK_V2 = "SDK v2"  # azure-ai-ml
    CLI_V2 = "CLI v2"  # the extension ml
    PREVIEW_FEATURES = "preview features"
    BATCH_ENDPOINT_PREVIEW = "batch endpoint preview APIs"


class _Row(NamedTuple):
    lifecycle: Lifecycle
    successors: tuple[Client, ...] = ()  # best first; only those of the day are named
    now: str = ""  # what to do with them


_V2 = (Client.CLI_V2, Client.SDK_V2)

CLIENTS: dict[Client, _Row] = {
    Client.WORKBENCH: _Row(
        Lifecycle(seen=WORKBENCH_ARTICLE, announced=_WORKBENCH_NOTICE, end=_WORKBENCH_END),
        (*_V2, Client.SDK_V1, Client.CLI_V1),
        "submit a job to a compute cluster, or attach the machine to the workspace as compute",
    ),
    Client.SDK_V1: _Row(
        Lifecycle(seen=INFERENCE_ARTICLE, announced=EOL, end=_eol(2026, 6, 30, "486238 and 501668")),
        (Client.SDK_V2, Client.CLI_V2),
        "attach the cluster as Kubernetes compute, deploy to online endpoints, find the model by AZUREML_MODEL_DIR",
    ),
    Client.CLI_V1: _Row(Lifecycle(seen=_WORKBENCH_NOTICE, end=_eol(2025, 9, 30)), _V2, "use `az ml` of version 2"),
    Client.SDK_V2: _Row(Lifecycle(seen=_CLI_AND_SDK_V2)),
    Client.CLI_V2: _Row(Lifecycle(seen=_EXAMPLES)),
    Client.PREVIEW_FEATURES: _Row(
        Lifecycle(seen=EOL, preview=True, announced=EOL, end=_eol(2026, 3, 31)), _V2, "use what is general"
    ),
    Client.BATCH_ENDPOINT_PREVIEW: _Row(
        Lifecycle(seen=EOL, preview=True, announced=EOL, end=_eol(2026, 3, 16)), _V2, "use an API version that is general"
    ),
}


def client_problems(client: Client, as_of: date, *, path: str) -> list[Problem]:
    """The problems of the client on that day, with those that can be used then."""
    row = CLIENTS[client]
    usable = tuple(
        one.value for one in row.successors if CLIENTS[one].lifecycle.status(as_of) in (Status.GENERAL, Status.RETIRING)
    )
    with_those = f"with {' or '.join(usable)}: " if usable else ""
    return lifecycle.check(
        row.lifecycle,
        f"{client.value} of Azure Machine Learning",
        as_of,
        path=path,
        value=client.value,
        fix=f"{with_those}{row.now}" if row.now else "",
        instead=usable,
    )
