"""What a foundation registers with the engine, beyond the inputs that the cases show."""

from azure_gpu.foundation.args import FoundationWiring
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.shared.wired import Wired
from azure_gpu.shared.workloads import Workload
from tests.components.recording import declare
from tests.components.settings_of import STACK_ARGS

EVERYTHING: FoundationWiring = {
    "stack": STACK_ARGS,
    "resource_group": {"create": True},
    "identity": {"create": True},
    "registry": {"create": True},
    "log_workspace": {"create": True},
    "storage": {"create": True},
    "workloads": [Workload.MNIST, Workload.SCORING, Workload.VECTOR_ADD],
    "image_source": "https://github.com/someone/fork.git#0123abc",
}


def test_outputs_are_what_the_class_says() -> None:
    args: FoundationWiring = {**EVERYTHING, "serving_identity": {"create": True}}
    recorded = declare(lambda: Foundation("one", Wired(args)))
    [outputs] = [outputs for urn, outputs in recorded.outputs.items() if "Foundation" in urn]
    assert outputs.keys() == Foundation.__annotations__.keys() - {"dependencies", "around"}


def test_components_on_a_foundation_learn_whether_the_program_assigns_roles() -> None:
    made: list[Foundation] = []
    declare(lambda: made.append(Foundation("one", Wired(EVERYTHING))))
    declare(lambda: made.append(Foundation("two", Wired({**EVERYTHING, "assign_roles": False}))))
    assert [each.dependencies.get("assign_roles") for each in made] == [True, False]
