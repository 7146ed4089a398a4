"""The plan of a stack resolves each part once and looks up each existing part once, and the components resolve nothing again."""

import importlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.formats import stack_file
from azure_gpu.stack.look_ups import ASSUMED
from azure_gpu.stack.plan import plan
from azure_gpu.stack.settings import read
from tests.components.recorded_bodies import CONNECTED, run_program
from tests.components.recording import KEYS
from tests.components.settings_of import TODAY, configuration

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests" / "components" / "cases"
# Where the plan's resolving of each kind of part is bound, and where the components' own would be.
RESOLVERS = {
    "foundation": ("azure_gpu.foundation.spec.resolve", "azure_gpu.foundation.foundation.resolve"),
    "group": ("azure_gpu.stack.kinds.resolve_group", "azure_gpu.container_instances.group.resolve"),
    "environment": (
        "azure_gpu.container_apps.environment.spec.resolve",
        "azure_gpu.container_apps.environment.environment.resolve",
    ),
    "job": ("azure_gpu.stack.kinds.resolve_job", "azure_gpu.container_apps.job.job.resolve"),
    "account": ("azure_gpu.batch.account.spec.resolve", "azure_gpu.batch.account.account.resolve"),
    "pool": ("azure_gpu.stack.kinds.resolve_pool", "azure_gpu.batch.pool.pool.resolve"),
    "cluster": ("azure_gpu.stack.kinds.resolve_cluster", "azure_gpu.aks.cluster.resolve"),
    "vm": ("azure_gpu.stack.kinds.resolve_vm", "azure_gpu.vm.vm.resolve"),
    "workspace": ("azure_gpu.ml.workspace.resolve.resolve", "azure_gpu.ml.workspace.workspace.resolve"),
    "endpoint": ("azure_gpu.ml.endpoint.resolve.resolve", "azure_gpu.ml.endpoint.endpoint.resolve"),
}


def run(config: dict[str, str], answers: dict[str, Any]) -> list[str]:
    """The functions of Azure that the program asks."""
    return [token for token, _ in run_program(config, {**KEYS, **answers}, preview=True).lookups]


@pytest.mark.parametrize(
    "name",
    ["foundation.happy.existing", "cluster.happy.existing", "pool.happy.existing_account", "job.happy.existing_environment"],
)
def test_every_existing_part_is_looked_up_once_in_a_preview(name: str) -> None:
    case = yaml.load((CASES / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    asked = Counter(run(configuration({"as_of": "2026-11-20", **case["says"]}), case["azure_answers"]))
    assert {token: asked[token] for token in case["azure_answers"]} == dict.fromkeys(case["azure_answers"], 1)


def counted(of: str, original: Callable[..., Any], counts: Counter[str]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        counts[of] += 1
        return original(*args, **kwargs)

    return call


def test_every_part_of_the_local_stack_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    for kind, places in RESOLVERS.items():
        for place in places:
            module, name = place.rsplit(".", 1)
            original = getattr(importlib.import_module(module), name)
            monkeypatch.setattr(place, counted(kind, original, counts))
    text = (ROOT / "Pulumi.local.yaml").read_text()
    config = {**CONNECTED, **stack_file.configuration(text)}
    run(config, {})
    parts = yaml.safe_load(text)["config"]
    assert counts == {
        "foundation": 1,
        "group": len(parts["azure-gpu:container_groups"]),
        "environment": 1,
        "job": len(parts["azure-gpu:jobs"]),
        "account": 1,
        "pool": len(parts["azure-gpu:pools"]),
        "cluster": len(parts["azure-gpu:clusters"]),
        "workspace": 1,
        "endpoint": len(parts["azure-gpu:ml_endpoints"]),
    }


def test_a_plan_is_the_same_for_the_same_settings() -> None:
    text = (ROOT / "Pulumi.local.yaml").read_text()
    settings = read({**CONNECTED, **stack_file.configuration(text)}, TODAY)
    one, other = (plan(settings, ASSUMED, "azure-gpu", "local") for _ in range(2))
    assert one == other
