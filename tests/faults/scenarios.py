"""The stacks that a campaign brings up, changes and takes down: small, with nearly every type that the program declares.

Not among them: versions of models, whose files somebody uploads between two runs of `up`, and pull secrets of devices.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from tests.support import happy_cases
from tests.support.embedded import CHECKOUT, ServedAzure

_MEMBER = "azure-gpu:"
_ENDS = {"expires_after": "2026-11-30"}
_AT = {"location": "eastus", "as_of": "2026-11-21"}


@dataclass(frozen=True, slots=True)
class Scenario:
    """One stack. `configuration(azure)` is what its file says; a change of it gives every resource another tag."""

    name: str
    configuration: Callable[[ServedAzure], dict[str, Any]]
    kubernetes: bool = False

    @property
    def stack(self) -> str:
        """The same in every life, so that all names are the same."""
        return f"fault-{self.name}"

    def changed(self, azure: ServedAzure) -> dict[str, Any]:
        return {**self.configuration(azure), "tags": {"changed": "yes"}}


def _lite(azure: ServedAzure) -> dict[str, Any]:
    """The shipped stack `lite`: groups, jobs, pools, a workspace of Azure ML and an endpoint."""
    config = yaml.safe_load((CHECKOUT / "Pulumi.lite.yaml").read_text())["config"]
    return {**{key.removeprefix(_MEMBER): value for key, value in config.items()}, "image_source": _source(azure)}


def _machines(azure: ServedAzure) -> dict[str, Any]:
    """Virtual machines with everything around them, an image of the stack's own, and a Batch account with an application."""
    cases = [
        happy_cases.on(azure, yaml.safe_load((happy_cases.CASES / f"{name}.yaml").read_text())["says"])
        for name in ("vm.happy.everything", "pool.happy.gallery_image")
    ]
    machines, images = cases
    found = {**images, **machines, **_AT}
    return found | {
        "team": "machines",
        "batch_account": {"applications": {"tool": {}}},
        "pools": {"own": images["pools"]["own"]},
    }


def _cluster(azure: ServedAzure) -> dict[str, Any]:
    """A cluster with what the program puts onto it, a job there, and the cluster as a compute of Azure ML."""
    pool = {"size": "Standard_NC4as_T4_v3", "max_nodes": 1, "sharing": {"strategy": "time-slicing", "replicas": 4}}
    cluster = {
        "gpu_pools": {"t4": pool},
        "namespace": {"max_gpus": 4},
        "maintenance": {"upgrades": "patch", "node_images": "NodeImage"},
        **_ENDS,
    }
    return {
        "team": "cluster",
        **_AT,
        "foundation": dict.fromkeys(("resource_group", "identity", "log_workspace"), "create"),
        "clusters": {"shared": cluster},
    }


def _source(azure: ServedAzure) -> str:
    return f"{azure.url}/checkout.git#HEAD"


def _small(azure: ServedAzure) -> dict[str, Any]:
    """A job that runs Microsoft's sample, an identity and storage: up in seconds, for the tests of the campaign itself."""
    return {
        "team": "small",
        **_AT,
        "foundation": dict.fromkeys(("resource_group", "identity", "storage"), "create"),
        "jobs": {"adder": _ENDS},
    }


SMALL = Scenario("small", _small)
LITE, MACHINES, CLUSTER = (
    Scenario("lite", _lite),
    Scenario("machines", _machines),
    Scenario("cluster", _cluster, kubernetes=True),
)
ALL = (LITE, MACHINES, CLUSTER)
