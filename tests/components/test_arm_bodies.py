"""What the components declare, as ARM requests, against Microsoft's own types: the real provider would send what ARM takes."""

from typing import Any

from azure_gpu.batch.account.account import BatchAccount
from azure_gpu.batch.account.args import BatchAccountWiring
from azure_gpu.batch.pool.args import BatchPoolWiring
from azure_gpu.batch.pool.pool import BatchPool
from azure_gpu.container_instances.args import ContainerGroupWiring
from azure_gpu.container_instances.group import ContainerGroup
from azure_gpu.formats import azure_types
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.ml.workspace.args import MlWorkspaceWiring
from azure_gpu.ml.workspace.workspace import MlWorkspace
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.wired import Wired
from localazure.shapes import default_api_version, to_arm
from tests.components import recorded_bodies
from tests.components.foundation.test_foundation import EVERYTHING
from tests.components.ml import ml_workspaces
from tests.components.recording import declare, plain
from tests.components.settings_of import STACK_ARGS, args_of
from tests.oracle.arm_types import WITHOUT_TYPES, arm_problems

# What the components don't declare: packages come with `operations package push`, jobs with `operations run`, the containers of
# versions with their first version, and task runs in the template of a deployment.
OF_OTHERS = (
    azure_types.TASK_RUN,
    azure_types.BATCH_APPLICATION_PACKAGE,
    azure_types.ML_MODEL_CONTAINER,
    azure_types.ML_ENVIRONMENT_CONTAINER,
    azure_types.ML_CODE_CONTAINER,
    azure_types.ML_JOB,
)
CHECKED = [each for each in azure_types.ALL if each not in OF_OTHERS and each.arm_type not in WITHOUT_TYPES]
# What bodies can hold that no case has, or that is secret in a case and shown to no type.
PROBED: dict[str, Any] = {
    "containers": {
        "web": {
            "image": "python:3.11",
            "ports": [80],
            "mounts": {"files": {"path": "/files", "read_only": True}},
            "liveness": {"command": ["check"], "initial_delay_seconds": 1, "period_seconds": 2, "failure_threshold": 3},
            "readiness": {"http": {"port": 80, "path": "/", "scheme": "https"}, "success_threshold": 1, "timeout_seconds": 5},
        }
    },
    "volumes": {"files": {"secret": {"key": "secret"}}},
    "network": "private",
    "subnet_id": "/some/subnet",
    "ports": [{"port": 80}],
    "dns_config": {"name_servers": ["10.0.0.10"], "search_domains": "example.org", "options": "ndots:2"},
}
SHARES: dict[str, Any] = {
    "size": "Standard_NC4as_T4_v3",
    "dedicated_nodes": 1,
    "mounts": {
        "files": {
            "azure_file": {"url": "https://data.file.core.windows.net/s", "account": "data", "key": "secret", "options": "-o ro"}
        }
    },
    "expires_after": "2026-12-31",
    "replace": "drain-first",
}
# The first two are below; extensions are held against the types with their machines, and no subnet is declared apart.
NOT_RECORDED = {
    azure_types.ML_CODE_VERSION.token,
    "azure-native:network:PrivateEndpoint",
    "azure-native:compute:VirtualMachineExtension",
    "azure-native:network:Subnet",
}


def test_arm_takes_what_no_case_has() -> None:
    def build() -> None:
        foundation = Foundation("foundation", Wired(EVERYTHING))
        stands_on: OfStack = {"stack": STACK_ARGS, **foundation.dependencies}
        ContainerGroup("probed", Wired(args_of(ContainerGroupWiring, stands_on, PROBED)))
        account = BatchAccount("batch", Wired(args_of(BatchAccountWiring, stands_on)))
        BatchPool("shares", Wired(args_of(BatchPoolWiring, stands_on, account.dependencies, SHARES)))
        attachable = {"clusters": ml_workspaces.CLUSTERS, "vms": ml_workspaces.VMS}
        MlWorkspace("ml", Wired(args_of(MlWorkspaceWiring, stands_on, ml_workspaces.EVERYTHING, attachable)))

    found = declare(build).registrations
    assert {each.type for each in found} >= {azure_types.ML_CODE_VERSION.token, "azure-native:network:PrivateEndpoint"}
    assert [f"{each.name}{problem}" for each in found for problem in problems_of(each.type, each.inputs)] == []


def test_every_type_that_arm_has_and_the_components_declare_is_recorded() -> None:
    recorded = {
        urn.split("::")[-2].rpartition("$")[2]
        for body in recorded_bodies.recorded().values()
        for urn in body.get("resources", {})
    }
    assert {each.token for each in CHECKED} - recorded == NOT_RECORDED


def test_arm_takes_everything_that_is_recorded_of_cases_stacks_and_examples() -> None:
    found = [
        f"{name}: {urn.rpartition('::')[2]}{problem}"
        for name, body in recorded_bodies.recorded().items()
        for urn, resource in body.get("resources", {}).items()
        for problem in problems_of(urn.split("::")[-2].rpartition("$")[2], plain(resource["wire"]))
    ]
    assert found == []


def problems_of(token: str, inputs: dict[str, Any]) -> list[str]:
    """What ARM's types have against the body that these inputs become."""
    azure_type = azure_types.BY_TOKEN.get(token)
    if azure_type not in CHECKED:
        return []
    problems = arm_problems(azure_type.arm_type, default_api_version(azure_type), to_arm(azure_type, inputs))
    for sent in inputs.get("properties", {}).get("template", {}).get("resources", []):
        problems += arm_problems(sent["type"], sent["apiVersion"], sent)
    return problems
