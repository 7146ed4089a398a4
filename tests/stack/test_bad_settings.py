"""What a user gets for wrong settings: every problem at once, in one message, and nothing in Azure."""

from tests.stack.configurations import with_gpu_group
from tests.support.embedded import SUBSCRIPTION, ServedAzure
from tests.support.stack import ProgramStack


def test_all_problems_of_all_components_come_at_once_and_nothing_is_created(azure: ServedAzure, shared: ProgramStack) -> None:
    config = with_gpu_group(azure, count=3, gpus=1, workload="vectors") | {"as_of": "June", "contaner_groups": {}}
    config["foundation"]["registry"] = {"existing": "/subscriptions/x"}
    shared.prepare(config)
    refused = shared.operations("preview").returncode != 0
    done = shared.operations("up") if refused else shared.pulumi("up", "--yes", "--skip-preview")
    text = done.stdout + done.stderr
    assert done.returncode != 0
    assert "Traceback" not in text
    for path in ("contaner_groups", "as_of", "container_groups.adder.gpus", "container_groups.adder.workload"):
        assert f"- {path}: " in text, f"{path} isn't reported in:\n{text}"
    for path in ("container_groups.adder.gpu.count", "foundation.registry.existing"):
        assert f"- {path}: " in text, f"{path} isn't reported in:\n{text}"
    assert "allowed: 1, 2" in text
    found = azure.get(f"/subscriptions/{SUBSCRIPTION}/resourceGroups", "2024-03-01").json()["value"]
    assert [group["name"] for group in found if shared.name in group["name"]] == []
