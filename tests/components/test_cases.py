"""Stack files as cases: `cases/<component>.happy.<what>.yaml` is taken, `cases/<component>.error.<why>.yaml` is refused.

A happy case says what is declared, as inputs by wire name that must be among those registered, every role that is assigned, as
who, role, on what and of which component, and what is warned of; an error case says each message, as parts that it must hold.
Nothing else may be declared or reported.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.aks.cluster import GpuCluster
from azure_gpu.batch.account.account import BatchAccount
from azure_gpu.batch.pool.pool import BatchPool
from azure_gpu.budget.args import BudgetWiring
from azure_gpu.budget.budget import Budget
from azure_gpu.container_apps.environment.environment import JobEnvironment
from azure_gpu.container_apps.job.job import ServerlessGpuJob
from azure_gpu.container_instances.group import ContainerGroup
from azure_gpu.edge.sharing import EdgeSharing
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.images.gallery_image import GalleryImage
from azure_gpu.ml.endpoint.endpoint import MlEndpoint
from azure_gpu.ml.workspace.workspace import MlWorkspace
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.wired import Wired
from azure_gpu.stack.settings import read
from azure_gpu.vm.vm import GpuVm
from tests.components.answering import clusters_that_answer
from tests.components.recording import KEYS, PROJECT, STACK, Recorded, Registration, declare
from tests.components.settings_of import TODAY, all_problems, args_of, configuration, encrypted

CASES = Path(__file__).parent / "cases"


def cases(kind: str) -> list[Any]:
    paths = sorted(CASES.glob(f"*.{kind}.*.yaml"))
    return [pytest.param(yaml.load(path.read_text(), yaml.CSafeLoader), id=path.stem) for path in paths]


@pytest.mark.parametrize("case", cases("happy"))
@pytest.mark.parametrize("preview", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["up", "preview"])
def test_a_happy_case_declares_what_it_says(case: dict[str, Any], preview: bool) -> None:
    recorded = declared_by(case, preview=preview)
    by_name = {registration.name: registration for registration in recorded.registrations if is_shown(registration)}
    assert sorted(by_name) == sorted(case["declares"])
    if preview:
        return  # what depends on something created isn't known then
    for name, expected in case["declares"].items():
        assert missing_from(by_name[name].inputs, expected, name) == []
    assert [list(role) for role in recorded.roles] == case.get("roles", [])


def declared_by(case: dict[str, Any], *, preview: bool = False) -> Recorded:
    """What a happy case registers. Its warnings have to be those that it says."""
    settings = read(configuration(case["says"]), TODAY, encrypted(case["says"]))

    def build() -> None:
        with clusters_that_answer():
            told = [str(problem) for problem in all_problems(settings, PROJECT, STACK)]
        unexpected = [message for message in told if not any(holds(message, parts) for parts in case.get("warns", []))]
        assert unexpected == []
        assert len(told) == len(case.get("warns", []))
        foundation = Foundation("foundation", Wired(settings.foundation))
        stands_on: OfStack = {**foundation.dependencies, "stack": settings.stack}
        for name, group in settings.container_groups.items():
            ContainerGroup(name, Wired({**group, **stands_on}))
        for region, environment in settings.job_environments.items():
            runs_in = JobEnvironment(region, Wired({**environment, **stands_on}))
            for name in [name for name in settings.jobs if settings.environment_of(name) == region]:
                ServerlessGpuJob(name, Wired({**settings.jobs[name], **stands_on, **runs_in.dependencies}))
        images = {
            name: GalleryImage(name, Wired({**image, **stands_on})).of_pool for name, image in settings.gallery_images.items()
        }
        if settings.batch_account is not None:
            account = BatchAccount("batch", Wired({**settings.batch_account, **stands_on}))
            for name, pool in settings.pools.items():
                BatchPool(name, Wired({**pool, **stands_on, **account.dependencies, "images": images}))

        for name, edge in settings.edges.items():
            EdgeSharing(name, Wired({**edge, **stands_on}))
        of_clusters = {name: GpuCluster(name, Wired({**cluster, **stands_on})) for name, cluster in settings.clusters.items()}
        clusters = {name: cluster.of_workspace for name, cluster in of_clusters.items()}
        if settings.budget is not None and settings.budget_in_azure:
            of_nodes = [each.node_resource_group for each in of_clusters.values()]
            Budget("budget", Wired(args_of(BudgetWiring, {"resource_groups": of_nodes}, settings.budget, stands_on)))
        vms = {name: GpuVm(name, Wired({**vm, **stands_on, "images": images})).of_workspace for name, vm in settings.vms.items()}
        if settings.ml_workspace is not None:
            workspace = MlWorkspace("ml", Wired({**settings.ml_workspace, **stands_on, "clusters": clusters, "vms": vms}))
            for name, endpoint in settings.ml_endpoints.items():
                MlEndpoint(name, Wired({**endpoint, **stands_on, **workspace.dependencies}))

    return declare(build, preview=preview, lookups={**KEYS, **case.get("azure_answers", {})})


def is_shown(registration: Registration) -> bool:
    """Of Kubernetes an edge's objects, which are all that it declares; a cluster's are shown by tests/components/kubernetes."""
    of_edge = "azuregpu:index:EdgeSharing" in registration.parent and registration.type.startswith("kubernetes:")
    return of_edge or registration.type in TOKENS


TOKENS = {
    "azure-native:resources:ResourceGroup",
    "azure-native:authorization:RoleAssignment",
    "azure-native:managedidentity:UserAssignedIdentity",
    "azure-native:storage:StorageAccount",
    "azure-native:containerregistry:Registry",
    "azure-native:resources:Deployment",
    "azure-native:operationalinsights:Workspace",
    "azure-native:containerinstance:ContainerGroup",
    "azure-native:app:ManagedEnvironment",
    "azure-native:app:Job",
    "azure-native:monitor:DiagnosticSetting",
    "azure-native:batch:BatchAccount",
    "azure-native:batch:Application",
    "azure-native:batch:Pool",
    "azure-native:compute:Gallery",
    "azure-native:compute:GalleryImage",
    "azure-native:compute:GalleryImageVersion",
    "azure-native:managedidentity:FederatedIdentityCredential",
    "azure-native:containerservice:ManagedCluster",
    "azure-native:containerservice:AgentPool",
    "azure-native:containerservice:MaintenanceConfiguration",
    "azure-native:keyvault:Vault",
    "azure-native:applicationinsights:Component",
    "azure-native:storage:BlobContainer",
    "azure-native:kubernetesconfiguration:Extension",
    "azure-native:network:PrivateEndpoint",
    "azure-native:machinelearningservices:Workspace",
    "azure-native:machinelearningservices:Datastore",
    "azure-native:machinelearningservices:Compute",
    "azure-native:machinelearningservices:ModelVersion",
    "azure-native:machinelearningservices:EnvironmentVersion",
    "azure-native:machinelearningservices:CodeVersion",
    "azure-native:machinelearningservices:OnlineEndpoint",
    "azure-native:machinelearningservices:OnlineDeployment",
    "azure-native:compute:VirtualMachine",
    "azure-native:consumption:Budget",
}


def missing_from(actual: Any, expected: Any, path: str) -> list[str]:
    """What `expected` says and `actual` doesn't. A null in `expected` stands for nothing at all."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return [line for key, value in expected.items() for line in missing_from(actual.get(key), value, f"{path}.{key}")]
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(actual, expected, strict=True))
        return [line for index, (one, other) in pairs for line in missing_from(one, other, f"{path}[{index}]")]
    return [] if actual == expected else [f"{path}: {actual!r} instead of {expected!r}"]


@pytest.mark.parametrize("case", cases("error"))
def test_an_error_case_is_refused_with_its_messages(case: dict[str, Any]) -> None:
    found: list[str] = []

    def build() -> None:
        settings = read(configuration(case["says"]), case.get("today", TODAY), encrypted(case["says"]))
        found.extend(str(problem) for problem in all_problems(settings, PROJECT, STACK))

    recorded = declare(build, lookups=case.get("azure_answers", {}))
    assert recorded.registrations == []
    unexplained = [message for message in found if not any(holds(message, parts) for parts in case["messages"])]
    assert unexplained == []
    for parts in case["messages"]:
        assert any(holds(message, parts) for message in found), f"nothing says {parts}; said was {found}"


def holds(message: str, parts: list[str]) -> bool:
    return all(part in message for part in parts)
