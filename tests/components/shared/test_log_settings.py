"""What a diagnostic setting says when Azure refuses it without a reason."""

import pulumi
import pytest

from azure_gpu.shared import log_settings
from azure_gpu.shared.context import LogsArgs
from tests.components.recording import Recorded, declare

CONFLICT = 'Status=409 Code="ServiceError" Message="Conflict"'


class _Component(pulumi.ComponentResource):
    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"a:b:{kind}", name)
        logs = LogsArgs(workspace_arm_id="/logs")
        log_settings.declare(name, pulumi.Output.from_input("/of"), logs, ["Audit"], pulumi.ResourceOptions(parent=self))


def declared() -> Recorded:
    def build() -> None:
        _Component("Cluster", "shared")
        _Component("Environment", "shared")

    return declare(build)


def test_components_of_one_name_have_hooks_of_their_own() -> None:
    assert sorted(declared().error_hooks) == ["Cluster-shared-logs-registered", "Environment-shared-logs-registered"]


@pytest.mark.parametrize(
    ("error", "told"), [(CONFLICT, True), ("The subscription is not registered to use microsoft.insights", True), ("else", False)]
)
def test_a_refusal_without_a_reason_comes_with_what_it_may_mean(error: str, told: bool) -> None:
    recorded = declared()
    hook, before = recorded.error_hooks["Cluster-shared-logs-registered"], len(recorded.log)
    args = pulumi.ErrorHookArgs(urn="", id="", name="shared-logs", type="", failed_operation="create", errors=[error])
    assert hook(args) is False
    said = recorded.log[before:]
    assert [line.startswith("shared-logs: if the subscription isn't registered") for line in said] == [True] * told
