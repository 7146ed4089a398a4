"""What a foundation registers with the engine, beyond the inputs that the cases show."""

import base64
import re

import pytest

from azure_gpu.formats import azure_types
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


@pytest.mark.parametrize(
    ("image", "goes"),
    [
        ("mnist:0123456789abcdef", True),
        ("run/train:0123456789abcdef", True),
        ("mnist:{used}", False),
        ("digits:latest", False),
        ("mnist:0123456789abcdef0123456789abcdef01234567", False),  # of a commit
        ("theirs/mnist:0123456789abcdef", False),
    ],
)
def test_old_builds_are_purged_but_those_in_use_and_what_others_have_pushed(image: str, goes: bool) -> None:
    [task] = declare(lambda: Foundation("one", Wired(EVERYTHING))).of_type(azure_types.TASK.token)
    step = task.inputs["step"]
    [used] = [value["value"] for value in step["values"]]
    content = base64.b64decode(step["encodedTaskContent"]).decode().replace("{{.Values.used}}", used)
    # As `acr purge` reads it: the repository's expression is for the whole name, the tag's for a part of it.
    [(repositories, tags)] = re.findall("--filter '([^:]+):([^']+)'", content)
    repository, tag = image.format(used=used.split("|")[0]).split(":")
    assert bool(re.fullmatch(repositories, repository) and re.search(tags, tag)) is goes
