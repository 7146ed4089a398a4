"""What a foundation registers with the engine, beyond the inputs that the cases show."""

import base64
import re

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


def test_old_builds_are_purged_but_those_in_use_and_what_others_have_pushed() -> None:
    [task] = declare(lambda: Foundation("one", Wired(EVERYTHING))).of_type(azure_types.TASK.token)
    step = task.inputs["step"]
    used = step["values"][0]["value"]
    content = base64.b64decode(step["encodedTaskContent"]).decode().replace("{{.Values.used}}", used)
    # As `acr purge` reads it: the repository's expression is for the whole name, the tag's for a part of it.
    [(repositories, tags)] = re.findall("--filter '([^:]+):([^']+)'", content)
    build = "0123456789abcdef"
    old = [f"mnist:{build}", f"run/a:{build}", f"mnist:{used[:16]}", "digits:latest", f"mnist:{build * 2}", f"my/mnist:{build}"]
    assert [each for each in old if re.fullmatch(f"({repositories}):.*", each) and re.search(tags, each.split(":")[1])] == old[:2]
