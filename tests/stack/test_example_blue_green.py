"""The commands of examples/blue-green/README.md, read out of it and run as they stand, in a copy of the checkout."""

import re
import uuid
from pathlib import Path

import pytest
import yaml

from tests.support.embedded import CHECKOUT, SUBSCRIPTION, ServedAzure
from tests.support.readme_commands import commands_in, copied, groups_left, login, walked

FOLDER = CHECKOUT / "examples" / "blue-green"
README = FOLDER / "README.md"
BLOB_DATA_CONTRIBUTOR = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"


def test_the_endpoint_has_no_deployment_at_first_and_so_no_machine() -> None:
    config = yaml.safe_load((FOLDER / "stack.yaml").read_text(encoding="utf-8"))["config"]
    assert config["azure-gpu:ml_endpoints"]["digits"]["deployments"] == {}


def test_promoting_is_one_of_the_commands_and_what_is_taken_out_has_no_share_by_then() -> None:
    commands = commands_in(README)
    [promoting] = [number for number, command in enumerate(commands) if "traffic.green=100" in command]
    [removing] = [number for number, command in enumerate(commands) if "config rm" in command]
    assert promoting < removing


# Two trainings and two servers of TensorFlow: by day test_ml_operations uploads, serves and proves with the same
# commands, and test_endpoints_traffic sees that no request is lost.
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(2400)
def test_the_commands_run_as_they_stand_and_leave_nothing(azure: ServedAzure, engine_bin: Path, tmp_path: Path) -> None:
    role = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{BLOB_DATA_CONTRIBUTOR}"
    whom = {"roleDefinitionId": role, "principalId": azure.principal_id, "principalType": "ServicePrincipal"}
    assignment = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}"
    assert azure.put(assignment, {"properties": whom}, "2022-04-01").status_code in (201, 409)  # 409: it has the role already
    commands = commands_in(README)
    environment = {**login(azure, engine_bin), "IMAGE_SOURCE": f"{azure.url}/checkout.git#HEAD"}
    outputs = walked(commands, copied(tmp_path / "clone", installed=True), environment)
    azure.delete(assignment, "2022-04-01")  # other tests share this subscription
    said = list(zip(commands, outputs, strict=True))
    asked = [output for command, output in said if " prove " in command]
    assert ["it answers" in each for each in asked] == [True, True, True]
    [promoted] = [output for command, output in said if "traffic.green=100" in command]
    assert re.search(r"green\W+10\W+=>\W+100", promoted)
    assert groups_left(azure, "digits") == []
