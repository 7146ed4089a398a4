"""Settings of an online endpoint of Azure Machine Learning and its deployments, `MlEndpointSettings`, with the keys' defaults.

They are resolved in `ml.endpoint.resolve` and `ml.endpoint.deployments`, and validated in `ml.endpoint.rules` and the catalog.
The service's default probes are in `catalog.services.machine_learning.deployments`.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired, TypedDict

from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.ml.dependencies import MlDependencies
from azure_gpu.ml.workspace.workspace import MlWorkspace
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import Choice, OpenInput

MANAGED = "managed"  # not a compute of the workspace: machines that Azure manages for the endpoint
DEFAULT_INSTANCES = 1
DEFAULT_MIN_INSTANCES = 1
DEFAULT_CPU_PERCENT = 70.0  # as in Azure's own example
DEFAULT_WINDOW_MINUTES = 5  # as there
DEFAULT_COOLDOWN_MINUTES = 10  # a new instance of a GPU size takes some minutes before it takes load off the others


Auth = Annotated[Literal["entra", "key", "aml_token"], Choice("EndpointAuth", "How callers of the endpoint authenticate.")]


EndpointNetwork = Annotated[Literal["public", "private"], Choice("EndpointNetwork", "From where the endpoint is reachable.")]


EndpointIdentity = Annotated[
    Literal["stack", "system"], Choice("EndpointIdentity", "Identity with which deployments fetch their image and their model.")
]


Egress = Annotated[
    Literal["public", "private"], Choice("EndpointEgress", "How a deployment reaches registry, storage and everything else.")
]


EndpointMonitoring = Annotated[
    Literal["logs", "none"], Choice("EndpointMonitoring", "What the endpoint sends to the stack's log workspace.")
]


class MlProbeArgs(TypedDict):
    """One health check of a container, by a request to its route. All of it is plain."""

    initial_delay_seconds: NotRequired[int]
    """Seconds from the container's start to the first check. Default: 10."""
    period_seconds: NotRequired[int]
    """Seconds between checks. Default: 10."""
    timeout_seconds: NotRequired[int]
    """Seconds after which a check without a response has failed. Default: 2."""
    success_threshold: NotRequired[int]
    """Consecutive successes required after a failure. Default: 1, and always 1 for `liveness`."""
    failure_threshold: NotRequired[int]
    """Consecutive failures until a check counts as failed. Default: 30, so that a model has five minutes to load."""


class MlProbesArgs(TypedDict):
    """Health checks of a container. All of it is plain."""

    liveness: NotRequired[MlProbeArgs]
    """A container that fails this is restarted. Default: every 10 seconds, 30 failures."""
    readiness: NotRequired[MlProbeArgs]
    """An instance that fails this gets no requests. Default: the same."""
    startup: NotRequired[MlProbeArgs]
    """Until this succeeds, the others wait. Default: none."""


class MlRequestsArgs(TypedDict):
    """Timeout and concurrency of requests. All of it is plain."""

    timeout_seconds: NotRequired[float]
    """Seconds after which a request is given up, at most 180, on Kubernetes 300. Default: 5."""
    concurrent: NotRequired[int]
    """Concurrent requests per instance; the server needs as many workers, such as by WORKER_COUNT of Microsoft's. Further
    requests are answered with 429. Default: 1."""
    queue_seconds: NotRequired[float]
    """Seconds that a request waits for an instance; deprecated, since the timeout includes the wait. Default: Azure's, 0.5."""


class MlAutoscaleArgs(TypedDict):
    """Limits for the number of a deployment's instances, and the metrics that scale it. On machines that Azure manages these are
    rules of Azure Monitor: above a value an instance is added, below 0.4 times that value one is removed. On Kubernetes the
    cluster's router scales only by `utilization_percent`. All of it is plain."""

    min: NotRequired[int]
    """Minimum number of instances, at least 1. Default: 1."""
    max: int
    """Maximum number of instances."""
    cpu_percent: NotRequired[float]
    """Average CPU utilization above which an instance is added. Default: 70, if no other metric is set."""
    gpu_percent: NotRequired[float]
    """Average GPU utilization above which an instance is added. Default: none."""
    requests_per_minute: NotRequired[float]
    """Requests a minute to the whole deployment above which an instance is added. Default: none."""
    window_minutes: NotRequired[int]
    """Minutes over which a metric is averaged, 5 to 720. Default: 5."""
    cooldown_minutes: NotRequired[int]
    """Minutes between changes. Default: 10."""
    utilization_percent: NotRequired[int]
    """Only on Kubernetes: target utilization of instances. Default: 70."""


class MlCodeArgs(TypedDict):
    """The program that answers requests, for an environment without a server. All of it is plain."""

    code: str
    """A code version of the workspace: its name under `code`, with or without its version, or its ARM id."""
    script: str
    """The file in it that has `init()` and `run()`, such as score.py."""


class MlDeploymentArgs(TypedDict):
    """One deployment: a model on machines, under a name such as `blue`. All of it is plain."""

    model: NotRequired[str]
    """A model of the workspace: its name under `models`, `<name>:<version>`, or an ARM id or azureml:// id of an existing one.
    Default: none, for an image that includes its model, such as that of the workload digits."""
    environment: NotRequired[str]
    """An environment, by the same kinds of references. Required but for MLflow and Triton models. Default: none."""
    code: NotRequired[MlCodeArgs]
    """The program that answers requests. Default: none, if the environment's image has a server."""
    instance_type: NotRequired[str]
    """Size of the machines, such as Standard_NC4as_T4_v3; on Kubernetes one of the compute's instance types. Required on machines
    that Azure manages. Default: on Kubernetes the compute's default."""
    instances: NotRequired[int]
    """Number of machines or pods; with `autoscale`, the initial number. Machines that Azure manages never scale to 0, so each
    costs while idle. Default: 1, with `autoscale` its lowest number."""
    autoscale: NotRequired[MlAutoscaleArgs]
    """Scaling of the number of instances. Default: a fixed number."""
    probes: NotRequired[MlProbesArgs]
    """Health checks of a container. Default: Azure's own checks."""
    requests: NotRequired[MlRequestsArgs]
    """Timeout and concurrency of requests. Default: 5 seconds, one at a time."""
    environment_variables: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables of the container, visible to everyone with read access to the deployment, so not for secrets.
    Default: none."""
    model_mount_path: NotRequired[str]
    """Path of the model for an image that has a server. Default: that of AZUREML_MODEL_DIR."""
    egress: NotRequired[Egress]
    """private restricts the deployment to private links, the older method; the workspace's `managed_network` replaces it, and
    can't be combined with it. Not on Kubernetes. Default: public."""
    app_insights: NotRequired[bool]
    """True sends the server's logs to the workspace's Application Insights, which costs by volume. Default: false."""
    description: NotRequired[str]
    """A description. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Additional tags, which take precedence over the endpoint's. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_ONLINE_DEPLOYMENT)]]
    """azure-native properties of the deployment, set last and validated only by Azure; null removes one. Default: none."""


class MlEndpointSettings(TypedDict):
    """An online endpoint: one address, and deployments behind it with a traffic split. All of it is plain."""

    endpoint_name: NotRequired[OpenInput[str]]
    """Name in Azure, 3 to 32 characters, unique in the region. Default: made from project, team, stack and the name here, with a
    hash."""
    compute: NotRequired[str]
    """managed: machines that Azure runs; or the name of a Kubernetes compute under `computes`. Default: managed."""
    auth: NotRequired[Auth]
    """entra: an Entra token and a role on the endpoint, without a secret, not on Kubernetes; key: one of two keys that never
    expire; aml_token: a token of the workspace, valid for some hours. A change updates the existing endpoint, and callers with
    the earlier method are rejected. Default: entra, on Kubernetes aml_token."""
    network: NotRequired[EndpointNetwork]
    """From where it is reachable. public: from everywhere, with authentication; private: only through the workspace's private
    endpoint. Not on Kubernetes, where the extension's router decides it. Default: private in a workspace that isn't public, else
    public."""
    identity: NotRequired[EndpointIdentity]
    """Identity with which deployments fetch image and model. stack: the stack's `serving_identity` where there is one, else its
    identity, which already has the roles; system: the endpoint's own, which gets the roles after its creation. A change replaces
    the endpoint. Default: stack where it has one, else system."""
    description: NotRequired[str]
    """A description. Default: none."""
    deployments: Mapping[str, MlDeploymentArgs]
    """Deployments by name, at most 20. A removed one is deleted after its share has gone to the others."""
    traffic: NotRequired[Mapping[str, int]]
    """Percent of the requests for each deployment, 100 in total; those that aren't listed get none. Promoting and rolling back
    changes only these numbers. Default: all to the only deployment; required if there are several."""
    mirror: NotRequired[Mapping[str, int]]
    """Percent of the live requests, at most 50, that are also sent to one deployment without live traffic, whose answers are
    discarded. Not on Kubernetes. Default: none."""
    monitoring: NotRequired[EndpointMonitoring]
    """logs sends requests, console and events to the stack's log workspace. Default: logs where there is one."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Additional tags, which take precedence over the stack's. Default: none."""
    as_of: NotRequired[str]
    """The date against which the endpoint is validated, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the endpoint, YYYY-MM-DD; the tag `expires-at` holds the end of that day in UTC. Tools and people act on
    it: Azure itself deletes nothing. Required if a deployment has a GPU. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_ONLINE_ENDPOINT)]]
    """azure-native properties of the endpoint, set last and validated only by Azure; null removes one. Default: none."""


class MlEndpointArgs(MlEndpointSettings, CommonArgs):
    """Arguments of MlEndpoint."""

    workspace: MlWorkspace | OpenInput[str]
    """Its workspace: the component, or its ARM id. Identity, registry, storage account and log workspace default to the
    component's. With an id, `compute` is managed; if the id is an output, the workspace can't be read before it exists, and the
    endpoint isn't validated against it."""


class MlEndpointWiring(MlEndpointSettings, OfStack, MlDependencies):
    """Arguments of MlEndpoint, including the outputs of the stack's other parts."""
