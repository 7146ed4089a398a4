"""`upload package` right after a stack's first `up`, when the role of the account's identity on its storage doesn't work yet."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from azure.core.exceptions import HttpResponseError

from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.batch import packages
from azure_gpu_operations.batch.packages import NO_ROLE_YET, PAUSE_SECONDS, Packages

ACCOUNT = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Batch/batchAccounts/account"


def refusal(code: str) -> HttpResponseError:
    error = HttpResponseError("refused")
    error.status_code, error.error = 403, cast(Any, SimpleNamespace(code=code, message="The linked storage account refused."))
    return error


class Pushed:
    """A push of a package whose first requests are refused, with a clock that only waiting moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, code: str, times: int) -> None:
        self.said: list[str] = []
        self.now = 0.0
        self._refusals = [refusal(code)] * times
        asked = SimpleNamespace(create=self._create, get=lambda *_: SimpleNamespace(properties=None), activate=lambda *_: None)
        client = SimpleNamespace(application=SimpleNamespace(get=lambda *_: None), application_package=asked)
        monkeypatch.setattr(packages, "management_client", lambda *_: client)
        monkeypatch.setattr(Packages, "_upload", lambda *_: None)
        self._packages = Packages(cast(Any, None), ACCOUNT, sleep=self._sleep, clock=lambda: self.now)

    def push(self) -> None:
        self._packages.push("tool", "1", b"", self.said.append)

    def _create(self, *_: object) -> None:
        if self._refusals:
            raise self._refusals.pop()

    def _sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_role_that_does_not_work_yet_is_waited_for_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = Pushed(monkeypatch, NO_ROLE_YET, 3)
    pushed.push()
    assert pushed.now == 3 * PAUSE_SECONDS
    assert [line for line in pushed.said if "doesn't work yet" in line] == pushed.said[:1]
    assert "is active" in pushed.said[-1]


def test_a_role_that_never_works_is_told_as_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = Pushed(monkeypatch, NO_ROLE_YET, 1000)
    with pytest.raises(AzureError, match=NO_ROLE_YET):
        pushed.push()
    assert pushed.now == packages.LIMIT_SECONDS


def test_a_login_that_may_not_push_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = Pushed(monkeypatch, "AuthorizationFailed", 1)
    with pytest.raises(AzureError, match="the role Contributor on the Batch account"):
        pushed.push()
    assert pushed.now == 0
