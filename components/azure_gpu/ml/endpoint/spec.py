"""The resolved endpoint, `MlEndpointSpec`."""

from dataclasses import dataclass

from azure_gpu.catalog.prices.hourly_cost import HourlyCost
from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.services.machine_learning.deployments import MANAGED
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.ml.endpoint.args import Auth, EndpointIdentity, EndpointNetwork
from azure_gpu.ml.endpoint.deployments import DeploymentSpec
from azure_gpu.shared.context import Context, Tags

AUTH_MODES = {"entra": "AADToken", "key": "Key", "aml_token": "AMLToken"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ActualEndpoint:
    """An endpoint as Azure returns it."""

    traffic: dict[str, int]  # without shares of 0
    mirror: dict[str, int]
    tags: dict[str, str]
    properties: dict[str, str]  # authMode, publicNetworkAccess and description, where they are set
    compute: str  # the name of a Kubernetes compute; empty: managed
    identity_type: str
    identities: tuple[str, ...]  # names of its assigned identities
    changed_at: str  # RFC 3339


@dataclass(frozen=True, slots=True, kw_only=True)
class MlEndpointSpec:
    """A resolved endpoint. Wired values stay in the arguments."""

    context: Context
    path: str
    name: str
    location: str
    kind: str  # Managed or Kubernetes
    compute: str  # the name of a Kubernetes compute; empty: managed
    auth: Auth
    network: EndpointNetwork
    identity: EndpointIdentity | None  # None: not set, so the stack's if there is one
    description: str
    deployments: dict[str, DeploymentSpec]
    traffic: dict[str, int]  # of every deployment
    mirror: dict[str, int]
    logs: bool
    tags: Tags
    expires_at: str | None  # instant in UTC, RFC 3339
    cost: HourlyCost  # with the maximum number of instances; nothing on Kubernetes, whose nodes cost
    idle: HourlyCost  # with the minimum number of instances
    uses: tuple[SizeUse, ...]  # of managed deployments, with the most instances
    actual: ActualEndpoint | None = None  # None: not created yet, or unreadable
    auth_mode_at_creation: str = ""  # of the existing endpoint, as Azure spells it; empty: none
    stopped_since: str = ""  # RFC 3339: no deployment is declared until it is started; empty: it isn't stopped

    @property
    def managed(self) -> bool:
        return self.kind == MANAGED

    @property
    def auth_mode(self) -> str:
        """As Azure spells it."""
        return AUTH_MODES[self.auth]

    @property
    def hourly_cost(self) -> float | None:
        return self.cost.number

    @property
    def idle_cost(self) -> float | None:
        return self.idle.number


def identity_of(spec: MlEndpointSpec, *, stack_has_one: bool) -> EndpointIdentity:
    """The identity of its deployments: the configured one, else the stack's if there is one."""
    return spec.identity or ("stack" if stack_has_one else "system")


def quota_text(spec: DeploymentSpec) -> str:
    """The quota that a managed deployment requires, which includes 20% more instances for upgrades."""
    family, vcpus = endpoints.quota_of(spec.instance_type, spec.most)
    if vcpus is None:
        return ""
    return f"{vcpus} vCPUs of the quota {family}, including 20% more instances for upgrades, unless the size is exempt"
