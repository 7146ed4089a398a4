"""Who may score, by what roles; and the packages that a conda file asks for."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from azure_gpu.catalog import roles
from azure_gpu.formats.conda_file import CondaFileError
from localazure.arm.caller import Caller
from localazure.arm.store import Resource, Store
from localazure.lists.deviations import Deviations
from localazure.ml import conda, service
from localazure.ml.authentication import Gate, own_token
from localazure.ml.live import LiveEndpoint
from localazure.ml.scoring_errors import RefusedError
from localazure.weather.state import Weather
from tests.localazure.parts import arm_id

WORKSPACE = "/subscriptions/s/resourcegroups/g/providers/microsoft.machinelearningservices/workspaces/w"
ENDPOINT = f"{WORKSPACE}/onlineendpoints/e"
OURS = "the folder's service principal"


class Scene:
    """A gate, a clock of its own, and a store with roles."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "azure.sqlite")
        self.seconds = 100.0
        self.now = datetime(2026, 11, 22, tzinfo=UTC)
        self.caller = Caller("somebody", "app")
        services = SimpleNamespace(
            store=self.store,
            deviations=Deviations(),
            weather=Weather(),
            settings=SimpleNamespace(principal_id=OURS),
            clock=SimpleNamespace(now=lambda: self.now),
            tokens=SimpleNamespace(check=lambda authorization, audiences: self.caller),
        )
        self.gate = Gate(cast(Any, services), lambda: self.seconds)

    def role(self, role: str, scope: str) -> Resource:
        assignment = arm_id(f"{scope}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}")
        definition = f"/subscriptions/s/providers/Microsoft.Authorization/roleDefinitions/{role}"
        made = Resource(id=assignment, body={"properties": {"principalId": "somebody", "roleDefinitionId": definition}})
        self.store.put(made)
        return made

    def code(self, endpoint: LiveEndpoint, authorization: bytes) -> str:
        """Why it is refused; "" where it is let in."""
        try:
            self.gate.check(endpoint, authorization)
        except RefusedError as refused:
            return refused.code if refused.status == 401 else str(refused)
        return ""


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.store.close()


@pytest.mark.parametrize(
    ("role", "scope", "code"),
    [
        (roles.AZUREML_DATA_SCIENTIST, ENDPOINT, ""),
        (roles.AZUREML_DATA_SCIENTIST, WORKSPACE, ""),
        (roles.CONTRIBUTOR, "/subscriptions/s", ""),
        (roles.READER, ENDPOINT, "key_auth_access_denied"),
        (roles.AZUREML_COMPUTE_OPERATOR, WORKSPACE, "key_auth_access_denied"),
        (roles.OWNER, f"{WORKSPACE}/onlineendpoints/other", "key_auth_access_denied"),
    ],
    ids=["at the endpoint", "above it", "contributor", "reader", "compute operator", "at another endpoint"],
)
def test_a_role_that_allows_scoring_opens_an_endpoint_of_entra(scene: Scene, role: str, scope: str, code: str) -> None:
    scene.role(role, scope)
    assert scene.code(LiveEndpoint(key=ENDPOINT, name="e", auth_mode="AADToken"), b"Bearer t") == code


def test_a_role_that_was_taken_away_closes_it_two_seconds_later(scene: Scene) -> None:
    endpoint = LiveEndpoint(key=ENDPOINT, name="e", auth_mode="AADToken")
    assert scene.code(endpoint, b"Bearer t")
    role = scene.role(roles.OWNER, WORKSPACE)
    scene.seconds += 2.1
    assert scene.code(endpoint, b"Bearer t") == ""
    scene.store.delete(role.key)
    scene.seconds += 2.1
    assert scene.code(endpoint, b"Bearer t")
    scene.caller = Caller(OURS, "app")
    assert scene.code(endpoint, b"Bearer t") == ""


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (b"Bearer first", ""),
        (b"bearer second", ""),
        (b"Bearer wrong", "key_auth_access_denied"),
        ("Bearer é".encode(), "key_auth_access_denied"),
        (b"", "key_auth_bad_header_forbidden"),
        (b"Bearer", "key_auth_bad_header_forbidden"),
        (b"Basic first", "key_auth_bad_header_forbidden"),
    ],
)
def test_one_of_its_keys_opens_an_endpoint(scene: Scene, header: bytes, code: str) -> None:
    assert scene.code(LiveEndpoint(key=ENDPOINT, name="e", auth_mode="Key", keys=(b"first", b"second")), header) == code


def test_a_token_of_an_endpoint_opens_that_one_until_it_ends(scene: Scene) -> None:
    endpoint = LiveEndpoint(key=ENDPOINT, name="e", auth_mode="AMLToken", secret="s" * 40)
    other = LiveEndpoint(key=ENDPOINT, name="f", auth_mode="AMLToken", secret="t" * 40)
    token, expires, refresh = own_token(ENDPOINT, endpoint.secret, scene.now)
    assert scene.code(endpoint, f"Bearer {token}".encode()) == ""
    assert scene.code(other, f"Bearer {token}".encode()) == "key_auth_access_denied"
    assert scene.now < refresh < expires
    scene.now = expires + timedelta(seconds=1)
    assert scene.code(endpoint, f"Bearer {token}".encode()) == "key_auth_access_denied"


def test_no_two_deployments_share_the_name_of_an_object_in_a_cluster() -> None:
    first, second = (service._plain_name(f"/w/onlineendpoints/{each}") for each in ("a-b/deployments/cee", "a/deployments/b-cee"))
    assert first.startswith("a-b-cee-")
    assert second.startswith("a-b-cee-")
    assert first != second
    assert len(service._plain_name(f"/w/onlineendpoints/{'e' * 32}/deployments/{'d' * 32}")) == 63  # the longest label


def test_a_conda_file_is_what_pip_can_bring_of_it() -> None:
    found = conda.environment(
        "dependencies: [python=3.10, pip=23, numpy=1.26, 'scipy=1.11.4', pandas>=2, {pip: ['azureml-defaults', 'pillow==11.0']}]"
    )
    assert found.python == "3.10"
    assert found.requirements.splitlines() == ["numpy==1.26.*", "scipy==1.11.4", "pandas>=2", "azureml-defaults", "pillow==11.0"]
    assert found.has_server
    assert not conda.environment("dependencies: [numpy]").has_server
    assert conda.environment("dependencies: [numpy]").python == "3.12"
    with pytest.raises(CondaFileError):
        conda.environment("dependencies: [python=3]")
