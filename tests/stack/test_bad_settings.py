"""What a user gets for wrong settings: every problem at once, in one message, and nothing in Azure."""

import pytest

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
    assert [group["name"] for group in found if "tests" in group["name"]] == []


@pytest.mark.slow
def test_a_gpu_is_refused_today_with_its_date_and_what_replaced_it(azure: ServedAzure, shared: ProgramStack) -> None:
    config = with_gpu_group(azure, expires_after="2999-01-01")
    del config["as_of"]
    text = _refusal(shared, config)
    assert "2023-08-31" in text
    assert "Container Apps" in text


@pytest.mark.slow
@pytest.mark.parametrize("spelling", ["2019-06-01", "2019-06-01 00:00:00 +0000 UTC"])
def test_a_date_is_understood_as_written_and_as_the_engine_rewrites_it(
    azure: ServedAzure, shared: ProgramStack, spelling: str
) -> None:
    shared.prepare(with_gpu_group(azure) | {"as_of": spelling})
    done = shared.operations("preview")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_an_existing_part_that_is_not_there_is_one_clear_message(azure: ServedAzure, shared: ProgramStack) -> None:
    config = with_gpu_group(azure)
    missing = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-none"
    config["foundation"]["resource_group"] = {"existing": missing}
    text = _refusal(shared, config)
    assert "- foundation.resource_group.existing: " in text
    assert missing in text
    assert "1 problem in the configuration" in text


def _refusal(stack: ProgramStack, config: dict[str, object]) -> str:
    stack.prepare(config)
    done = stack.operations("preview")
    text = done.stdout + done.stderr
    assert done.returncode != 0, text
    assert "Traceback" not in text
    return text
