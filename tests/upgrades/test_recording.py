"""How a state is recorded: which secrets are replaced, and that a fresh one plans nothing either."""

import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.components.recording import SECRET_SIGNATURE
from tests.support.embedded import ServedAzure
from tests.upgrades import bringing_up, placeholders, plans


def test_a_secret_is_replaced_alike_in_the_answer_and_in_what_the_program_made_of_it(tmp_path: Path) -> None:
    azure = cast(ServedAzure, SimpleNamespace(state=tmp_path, client_secret="client+secret", admin_token="admin"))
    kubeconfig = base64.b64encode(b"server: https://localhost:45678").decode()
    record = {
        "config": {"azure-native:metadataHost": "localhost:45679"},
        "state": {
            "group": {"key": {SECRET_SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "plaintext": json.dumps("of the logs")}},
            "log": f"{tmp_path}/logs/build.log",
            "plain": "client+secret",
        },
        "invokes": [
            {"token": "t", "answer": {"primarySharedKey": "of the logs", "name": "logs"}},
            {"token": "t", "answer": {"kubeconfigs": [{"name": "clusterUser", "value": kubeconfig}]}},
        ],
    }
    put = placeholders.put(record, azure)
    key = put["invokes"][0]["answer"]["primarySharedKey"]
    assert key.startswith("secret-")
    assert json.loads(put["state"]["group"]["key"]["plaintext"]) == key
    assert put["state"]["plain"].startswith("secret-")
    assert put["state"]["plain"] != key
    assert put["state"]["log"] == "/state/logs/build.log"
    assert put["config"] == {"azure-native:metadataHost": "localhost:8443"}
    assert put["invokes"][0]["token"] == "t"
    value = put["invokes"][1]["answer"]["kubeconfigs"][0]["value"]
    assert base64.b64decode(value) == b"server: https://localhost:8443"


@pytest.mark.slow
def test_a_case_that_is_brought_up_now_and_recorded_plans_nothing(tmp_path: Path, engine_bin: Path) -> None:
    folders = [tmp_path / each for each in ("up", "planned")]
    for folder in folders:
        folder.mkdir()
    record = bringing_up.offline("job.happy.existing_environment", folders[0], engine_bin)
    assert record["invokes"] != []
    plan = plans.over(record, folders[1], engine_bin)
    assert plan.changes == []
    assert plan.unchanged == plans.resources(record)
