"""Settings of an online endpoint of Azure Machine Learning and its deployments, `MlEndpointSettings`, with the keys' defaults.

They are resolved in `ml.endpoint.resolve` and `ml.endpoint.deployments`, and validated in `ml.endpoint.rules` and the catalog.
The service's default probes are in `catalog.services.machine_learning.serving`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal, NotRequired, TypedDict

from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.ml.dependencies import MlSurroundings
from azure_gpu.ml.workspace.workspace import MlWorkspace
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import OpenInput

MANAGED = "managed"  # compute that isn't the workspace's own: machines that Azure runs for the endpoint alone
DEFAULT_INSTANCES = 1
DEFAULT_MIN_INSTANCES = 1
DEFAULT_CPU_PERCENT = 70.0  # as in Azure's own example
DEFAULT_WINDOW_MINUTES = 5  # as there
DEFAULT_COOLDOWN_MINUTES = 10  # a new instance of a GPU size takes some minutes before it takes load off the others


class Auth(StrEnum):
    """How whoever asks the endpoint says who they are."""

    ENTRA = "entra"
    KEY = "key"
    AML_TOKEN = "aml_token"  # noqa: S105  the name of a kind of token


AuthName = Auth | Literal["entra", "key", "aml_token"]


class EndpointNetwork(StrEnum):
    """From where the endpoint is asked."""

    PUBLIC = "public"
    PRIVATE = "private"


EndpointNetworkName = EndpointNetwork | Literal["public", "private"]


class EndpointIdentity(StrEnum):
    """As whom deployments fetch their image and their model."""

    STACK = "stack"
    SYSTEM = "system"


EndpointIdentityName = EndpointIdentity | Literal["stack", "system"]


class Egress(StrEnum):
    """How a deployment reaches registry, storage and everything else."""

    PUBLIC = "public"
    PRIVATE = "private"


EgressName = Egress | Literal["public", "private"]


class EndpointMonitoring(StrEnum):
    """What the endpoint sends to the stack's log workspace."""

    LOGS = "logs"
    NONE = "none"


EndpointMonitoringName = EndpointMonitoring | Literal["logs", "none"]


class MlProbeArgs(TypedDict):
    """One check of a container, by a request to its route. All of it is plain."""

    initial_delay_seconds: NotRequired[int]
    """How long after the container's start the first check is. Default: 10."""
    period_seconds: NotRequired[int]
    """How long after one check the next is. Default: 10."""
    timeout_seconds: NotRequired[int]
    """After how long a check without an answer has failed. Default: 2."""
    success_threshold: NotRequired[int]
    """How many checks in a row have to succeed after a failure. Default: 1, and always 1 for `liveness`."""
    failure_threshold: NotRequired[int]
    """How many checks in a row have to fail. Default: 30, so that a model has five minutes to load."""


class MlProbesArgs(TypedDict):
    """How the service finds out whether a container is well. All of it is plain."""

    liveness: NotRequired[MlProbeArgs]
    """A container that fails this is started again. Default: every 10 seconds, 30 failures."""
    readiness: NotRequired[MlProbeArgs]
    """An instance that fails this gets no requests. Default: the same."""
    startup: NotRequired[MlProbeArgs]
    """While this hasn't succeeded the others wait. Default: none."""


class MlRequestsArgs(TypedDict):
    """How long requests may take, and how many at a time. All of it is plain."""

    timeout_seconds: NotRequired[float]
    """After how long a request is given up, at most 180, on Kubernetes 300. Default: 5."""
    concurrent: NotRequired[int]
    """How many requests an instance gets at a time; the server needs as many workers, such as WORKER_COUNT of Microsoft's. More
    are answered with 429. Default: 1."""
    queue_seconds: NotRequired[float]
    """How long a request waits for an instance; deprecated, since the timeout counts the wait too. Default: Azure's, 0.5."""


class MlAutoscaleArgs(TypedDict):
    """Between which numbers of instances a deployment grows and shrinks, and by what. On machines that Azure manages these are
    rules of Azure Monitor: above a value an instance is added, below 0.4 times that value one goes. On Kubernetes the cluster's
    router does it by `utilization_percent` alone. All of it is plain."""

    min: NotRequired[int]
    """How many stay while nobody asks; at least 1. Default: 1."""
    max: int
    """How many there can be at most."""
    cpu_percent: NotRequired[float]
    """Average use of the processors above which one is added. Default: 70, where no other metric is said."""
    gpu_percent: NotRequired[float]
    """Average use of the GPUs above which one is added. Default: none."""
    requests_per_minute: NotRequired[float]
    """Requests a minute to the whole deployment above which one is added. Default: none."""
    window_minutes: NotRequired[int]
    """Over how many minutes a metric is averaged, 5 to 720. Default: 5."""
    cooldown_minutes: NotRequired[int]
    """How long after a change nothing is changed again. Default: 10."""
    utilization_percent: NotRequired[int]
    """On Kubernetes alone: how busy instances are meant to be. Default: 70."""


class MlCodeArgs(TypedDict):
    """The program that answers, for an environment that doesn't serve by itself. All of it is plain."""

    code: str
    """A code version of the workspace: its name under `code`, with or without its version, or its ARM id."""
    script: str
    """The file in it that has `init()` and `run()`, such as score.py."""


class MlDeploymentArgs(TypedDict):
    """One deployment: a model on machines, under a name such as `blue`. All of it is plain."""

    model: NotRequired[str]
    """A model of the workspace: its name under `models`, `<name>:<version>`, or an ARM id or azureml:// id of one that exists.
    Default: none, for an image that has its model in it, such as that of the workload digits."""
    environment: NotRequired[str]
    """An environment, said in the same ways. Only MLflow and Triton models do without. Default: none."""
    code: NotRequired[MlCodeArgs]
    """The program that answers. Default: none, where the environment's image serves by itself."""
    instance_type: NotRequired[str]
    """Size of the machines, such as Standard_NC4as_T4_v3; on Kubernetes one of the compute's instance types. Needed on machines
    that Azure manages. Default: on Kubernetes the compute's default."""
    instances: NotRequired[int]
    """How many machines or pods; with `autoscale`, how many at first. None of those that Azure manages ever goes to 0, so each
    costs while nobody asks. Default: 1, with `autoscale` its lowest number."""
    autoscale: NotRequired[MlAutoscaleArgs]
    """How the number grows and shrinks. Default: it stays."""
    probes: NotRequired[MlProbesArgs]
    """How the service finds out whether a container is well. Default: Azure's own checks."""
    requests: NotRequired[MlRequestsArgs]
    """How long requests may take, and how many at a time. Default: 5 seconds, one at a time."""
    environment_variables: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables of the container; whoever may read the deployment reads them, so nothing secret. Default: none."""
    model_mount_path: NotRequired[str]
    """Where an image that serves by itself finds the model. Default: where AZUREML_MODEL_DIR says."""
    egress: NotRequired[EgressName]
    """private keeps what the deployment fetches on private links, the older way; the workspace's `managed_network` is today's,
    and excludes it. Not on Kubernetes. Default: public."""
    app_insights: NotRequired[bool]
    """True sends what the server says to the workspace's Application Insights, which costs by volume. Default: false."""
    description: NotRequired[str]
    """What it is, for people. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags beside the endpoint's, over which they win. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_ONLINE_DEPLOYMENT)]]
    """azure-native properties of the deployment, set last and judged only by Azure; null removes one. Default: none."""


class MlEndpointSettings(TypedDict):
    """An online endpoint: one address, and deployments behind it that share its requests as `traffic` says. All is plain."""

    endpoint_name: NotRequired[OpenInput[str]]
    """Name in Azure, 3 to 32 characters, which nobody else has in the region. Default: made from project, team, stack and the
    name here, with a hash."""
    compute: NotRequired[str]
    """managed: machines that Azure runs; or the name of a Kubernetes compute under `computes`. Default: managed."""
    auth: NotRequired[AuthName]
    """entra: a token of Entra and a role on the endpoint, nothing to keep secret, not on Kubernetes; key: one of two keys that
    never expire; aml_token: a token of the workspace's, for some hours. Another one is set on the endpoint that is there, and
    refuses whoever signs on in the earlier way. Default: entra, on Kubernetes aml_token."""
    network: NotRequired[EndpointNetworkName]
    """From where it is asked. public: from everywhere, by those who can sign on; private: through the workspace's private
    endpoint alone. Not on Kubernetes, where the extension's router says it. Default: private in a workspace that isn't public,
    else public."""
    identity: NotRequired[EndpointIdentityName]
    """As whom deployments fetch image and model. stack: the stack's `serving_identity` where there is one, else its identity,
    whose roles are there before; system: one that comes with the endpoint, and gets the roles then. Another one makes a new
    endpoint. Default: stack where it has one, else system."""
    description: NotRequired[str]
    """What it is, for people. Default: none."""
    deployments: Mapping[str, MlDeploymentArgs]
    """Deployments by name, at most 20. One that is taken out is deleted after its share has gone to the others."""
    traffic: NotRequired[Mapping[str, int]]
    """Percent of the requests for each deployment, together 100; those that aren't named get none. Promoting and rolling back is
    changing these numbers, and nothing else is touched. Default: all to the only deployment; needed where there are several."""
    mirror: NotRequired[Mapping[str, int]]
    """Percent of the live requests, at most 50, that are also sent to one deployment without live traffic, whose answers nobody
    gets. Not on Kubernetes. Default: none."""
    monitoring: NotRequired[EndpointMonitoringName]
    """logs sends requests, console and events to the stack's log workspace. Default: logs where there is one."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags beside the stack's, over which they win. Default: none."""
    as_of: NotRequired[str]
    """The day at which the endpoint is judged, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the endpoint, YYYY-MM-DD; the tag `expires-at` holds the instant at which that day ends in UTC. Tools and
    people keep it: Azure itself deletes nothing by it. Needed where a deployment has a GPU. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_ONLINE_ENDPOINT)]]
    """azure-native properties of the endpoint, set last and judged only by Azure; null removes one. Default: none."""


class MlEndpointArgs(MlEndpointSettings, CommonArgs):
    """An endpoint, and where it belongs."""

    workspace: MlWorkspace | OpenInput[str]
    """The workspace that it is in: the component, or its ARM id. Identity, registry, storage account and log workspace are the
    component's where none are given here. With an id, `compute` is managed; a workspace that an output is the id of can't be read
    before it is there, so nothing is judged by it."""


class MlEndpointWiring(MlEndpointSettings, OfStack, MlSurroundings):
    """The same, wired to what it needs."""
