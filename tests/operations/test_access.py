"""Whoever is signed in learns how to get at a stack's blobs, and gets there, if he may give roles."""

import argparse
import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError

from azure_gpu.catalog import roles
from azure_gpu_operations import access, azure, signed_in, stack_options
from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.batch import blobs as module
from azure_gpu_operations.batch.blobs import Blobs

ACCOUNT = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/data"
ME = "aaaaaaaa-2222-3333-4444-555555555555"


def refusal(status: int) -> HttpResponseError:
    error = HttpResponseError(message="no")
    error.status_code = status
    # pyrefly: ignore[missing-attribute]
    error.error_code = "AuthorizationPermissionMismatch"
    return error


class Service:
    """The blob service, which opens after so many refusals."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals

    def list_containers(self) -> list[str]:
        self.refusals -= 1
        if self.refusals >= 0:
            raise refusal(403)
        return ["runs"]

    def create_container(self, _: str) -> None:
        raise refusal(403)

    def close(self) -> None:
        pass


class Arm:
    """Resource Manager, and who is signed in."""

    def __init__(self, claims: dict[str, str], refuses: str = "") -> None:
        body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
        credential = SimpleNamespace(get_token=lambda _: SimpleNamespace(token=f"h.{body}.s"))
        self.login: Any = SimpleNamespace(credential=credential, scope="arm")
        self.subscription_id = "s"
        self.sent: list[tuple[str, Any]] = []
        self.refuses = refuses

    def get(self, *_: str) -> dict[str, Any]:
        return {"properties": {"primaryEndpoints": {"blob": "https://data.blob.core.windows.net/"}}}

    def put(self, path: str, _: str, body: dict[str, Any]) -> dict[str, Any]:
        self.sent.append((path, body))
        if self.refuses:
            raise AzureError(self.refuses, 403)
        return {}

    def close(self) -> None:
        pass


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """`ask(arm, refusals, grant=…)`: the exit code of the command."""

    def run(arm: Arm, refusals: int, *, grant: bool, storage: str = ACCOUNT) -> int:
        found = SimpleNamespace(name="dev", storage=storage, connection=None)
        monkeypatch.setattr(access, "view", lambda _: found)
        monkeypatch.setattr(stack_options, "stack_of", lambda _: None)
        monkeypatch.setattr(azure, "Arm", lambda _: arm)
        service = Service(refusals)
        monkeypatch.setattr(module, "BlobServiceClient", lambda *_, **__: service)
        monkeypatch.setattr(access.time, "sleep", lambda _: None)
        monkeypatch.setattr(
            access.until_open, "__kwdefaults__", {"sleep": lambda _: None, "clock": iter(range(0, 9000, 100)).__next__}
        )
        return access.run(argparse.Namespace(stack="dev", grant=grant, config_folder=tmp_path))

    return run


def test_who_may_not_read_blobs_gets_the_command_that_lets_him(ask: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(Arm({"oid": ME, "idtyp": "user"}), 1, grant=False) == 1
    command = capsys.readouterr().out.splitlines()[-1]
    assert command == (
        f"az role assignment create --assignee-object-id {ME} --assignee-principal-type User"
        f" --role 'Storage Blob Data Contributor' --scope {ACCOUNT}"
    )
    assert ask(Arm({"oid": ME}), 0, grant=False) == 0


def test_a_refusal_of_blobs_says_the_same_command_and_the_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BlobServiceClient", lambda *_, **__: Service(9))
    arm: Any = Arm({"oid": ME, "idtyp": "app"})
    with pytest.raises(AzureError) as refused:
        Blobs(arm, ACCOUNT).make_container("runs")
    told = str(refused.value)
    assert f"--assignee-object-id {ME} --assignee-principal-type ServicePrincipal " in told
    assert "access --grant --stack" in told
    assert "$(az ad signed-in-user show" in module.grant_command(ACCOUNT, Arm({}).login), "the token doesn't say who it is"


def test_granting_assigns_the_role_to_who_is_signed_in_and_waits_until_it_works(ask: Any) -> None:
    arm = Arm({"oid": ME, "idtyp": "user"})
    assert ask(arm, 3, grant=True) == 0
    [(path, body)] = arm.sent
    assert path.startswith(f"{ACCOUNT}/providers/Microsoft.Authorization/roleAssignments/")
    role = roles.definition_id("s", roles.STORAGE_BLOB_DATA_CONTRIBUTOR)
    assert body == {"properties": {"roleDefinitionId": role, "principalId": ME, "principalType": "User"}}
    assert ask(Arm({"oid": ME}, "RoleAssignmentExists: it is there"), 1, grant=True) == 0


def test_who_may_give_no_roles_is_told_so(ask: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(Arm({"oid": ME}, "AuthorizationFailed: no"), 1, grant=True) == 1
    assert "AuthorizationFailed" in capsys.readouterr().err
    assert ask(Arm({"oid": ME}), 1000, grant=True) == 1
    assert "doesn't work after 15 minutes" in capsys.readouterr().err
    assert ask(Arm({"oid": ME}), 0, grant=True, storage="") == 2


def test_a_token_without_claims_is_refused() -> None:
    with pytest.raises(AzureError, match="has no object id"):
        signed_in.of(Arm({}).login)
