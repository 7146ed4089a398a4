"""What the components declare, as ARM requests, against Microsoft's own types: the real provider would send what ARM takes."""

from typing import Any

from azure_gpu.formats import azure_types
from localazure.shapes import default_api_version, to_arm
from tests.components import recorded_bodies
from tests.components.recording import plain
from tests.oracle.arm_types import WITHOUT_TYPES, arm_problems

# What the components don't declare: packages come with the Azure CLI, jobs with `operations run`, the containers of versions with
# their first version, and task runs in the template of a deployment.
OF_OTHERS = (
    azure_types.TASK_RUN,
    azure_types.BATCH_APPLICATION_PACKAGE,
    azure_types.ML_MODEL_CONTAINER,
    azure_types.ML_ENVIRONMENT_CONTAINER,
    azure_types.ML_CODE_CONTAINER,
    azure_types.ML_JOB,
)
CHECKED = [each for each in azure_types.ALL if each not in OF_OTHERS and each.arm_type not in WITHOUT_TYPES]
NOT_RECORDED = {"azure-native:network:Subnet"}  # none is declared apart from its network


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
