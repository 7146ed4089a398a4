"""`import` of ids on the real engine: what was made by hand is in a stack afterwards, and nothing of it has changed.

Nothing runs on the Azure of these tests: what is taken over is what ARM shows. Its weather is calm: what is made by hand has its
rights at once.
"""

from typing import Any

import pytest
import yaml

from tests.localazure.ml.online_world import World
from tests.stack.conftest import MakeStack
from tests.support import by_hand
from tests.support.by_hand import BATCH, CLUSTERS, LOGS, REGISTRY
from tests.support.embedded import ServedAzure
from tests.support.ml_resources import ML, cluster_body, done
from tests.support.stack import ProgramStack

pytestmark = pytest.mark.slow
CONFIG = {"team": "tests", "location": "westeurope", "as_of": "2026-11-21"}


def shown(azure: ServedAzure, ids: dict[str, str]) -> dict[str, Any]:
    """What ARM shows by id."""
    return {each: by_hand.stays(azure.get(each, version).json()) for each, version in ids.items()}


def adopt(stack: ProgramStack, *ids: str) -> str:
    """Writes the stack's file and imports; what `import` prints."""
    file = stack.config_file.with_suffix(".import.json")
    said = stack.operations("import", *ids, "--expires-after", "2026-12-30", "--write", "--out", str(file))
    assert said.returncode == 0, said.stdout + said.stderr
    assert f"pulumi import --file {file}" in said.stderr
    if not stack.there:
        stack.create()
    imported = stack.pulumi("import", "--file", str(file), "--yes", "--skip-preview", "--generate-code=false")
    assert imported.returncode == 0, imported.stdout + imported.stderr
    return said.stdout


def creates_only(stack: ProgramStack) -> set[str]:
    """The types in Azure that a preview creates, which has to be all that it does."""
    steps = stack.steps()
    assert {step.operation for step in steps} <= {"create"}, steps
    return {step.type for step in steps if step.type.startswith("azure-native:")}


def test_a_cluster_and_a_pool_made_by_hand_are_taken_over_without_a_change(
    still_azure: ServedAzure, make_stack: MakeStack
) -> None:
    azure = still_azure
    group = by_hand.group(azure, "lab")
    cluster, account = by_hand.cluster(azure, group, "byhand"), by_hand.batch_pool(azure, group, "labbatch")
    registry, logs = by_hand.registry(azure, group, "labimages"), by_hand.log_workspace(azure, group, "lablogs")
    ids = {
        **{cluster: CLUSTERS, f"{cluster}/agentPools/gput4": CLUSTERS, account: BATCH, f"{account}/pools/t4s": BATCH},
        **{registry: REGISTRY, logs: LOGS},
    }
    before = shown(azure, ids)
    stack = make_stack(azure, CONFIG)

    told = adopt(stack, cluster, account, registry, logs)
    assert shown(azure, ids) == before
    assert "an update leaves 6 of 6 adopted resources as they are" in told
    assert "the pool cpus of Standard_D4s_v5 has no GPU" in told
    assert creates_only(stack) == {
        "azure-native:managedidentity:UserAssignedIdentity",
        "azure-native:authorization:RoleAssignment",
        "azure-native:containerservice:MaintenanceConfiguration",
        "azure-native:monitor:DiagnosticSetting",
    }
    stack.update()
    again = stack.pulumi("preview", "--refresh", "--expect-no-changes")
    assert again.returncode == 0, again.stdout + again.stderr
    assert shown(azure, ids) == before
    protected = {each.get("id") for each in stack.exported()["resources"] if each.get("protect")}
    assert {cluster, f"{cluster}/agentPools/gput4", account, f"{account}/pools/t4s"} <= protected

    # What somebody has set stays, whatever is sent, and what an override holds back comes when it goes.
    content = yaml.safe_load(stack.config_file.read_text())
    entry = content["config"]["azure-gpu:clusters"]["byhand"]
    del entry["overrides"]["tags"]
    stack.config_file.write_text(yaml.safe_dump(content, sort_keys=False))
    assert [(step.operation, step.name) for step in stack.steps()] == [("update", "byhand-cluster")]
    stack.update()
    now = shown(azure, ids)[cluster]
    assert now["tags"] | {"stack": stack.name, "cost": "7"} == now["tags"]
    assert now["properties"] == before[cluster]["properties"]

    # A second adoption finds what the stack has by now.
    refused = stack.operations("import", cluster)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "already in the stack" in refused.stderr
    stack.let_go()


def test_a_workspace_with_an_endpoint_is_taken_over_without_a_change(still_azure: ServedAzure, make_stack: MakeStack) -> None:
    azure = still_azure
    world = World(azure, by_hand.group(azure, "lab-of-models"))
    world.let_read()
    endpoint = world.endpoint("labscores")
    endpoint.deploy("blue")
    endpoint.share(blue=100)
    done(azure, azure.put(f"{world.workspace}/computes/gpu", cluster_body(), ML))
    ids = dict.fromkeys((world.workspace, f"{world.workspace}/computes/gpu", endpoint.path, world.path("labscores", "blue")), ML)
    before = shown(azure, ids)
    stack = make_stack(azure, CONFIG)

    told = adopt(stack, endpoint.path, world.workspace)
    assert shown(azure, ids) == before
    assert "an update leaves 4 of 4 adopted resources as they are" in told
    assert {*creates_only(stack)} >= {"azure-native:resources:Deployment", "azure-native:authorization:RoleAssignment"}
    stack.update()
    assert stack.steps() == []
    assert shown(azure, ids) == before
    stack.let_go()
