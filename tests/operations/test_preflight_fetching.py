"""Reading several lists at once: what is waited for, what is given up, and what is said of it. No network."""

import argparse
import threading
from typing import Any

import pytest
from azure.core.exceptions import ClientAuthenticationError, HttpResponseError, ServiceRequestError

from azure_gpu_operations.preflight.fetching import SharedCredential, fetch
from tests.support.patience import SECONDS


class RefusalError(HttpResponseError):
    def __init__(self, status: int, headers: dict[str, str]) -> None:
        super().__init__(message="refused")
        self.status_code = status
        self.response = argparse.Namespace(headers=headers)


def test_what_retry_after_asks_for_is_waited() -> None:
    waited: list[float] = []
    answers = iter([RefusalError(429, {"Retry-After": "7"}), RefusalError(503, {}), None])

    def read() -> str:
        refusal = next(answers)
        if refusal is not None:
            raise refusal
        return "there"

    found = fetch({"list": read}, sleep=waited.append)
    assert (found["list"].value, waited) == ("there", [7.0, 2.0])


def test_a_server_that_never_recovers_is_given_up() -> None:
    waited: list[float] = []

    def read() -> None:
        raise RefusalError(503, {})

    found = fetch({"list": read}, sleep=waited.append)
    assert waited == [1.0, 2.0, 3.0]
    assert found["list"].missing == "Azure answered HTTP 503: refused"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ClientAuthenticationError(message="AADSTS70043: expired\nmore"), "run `az login` (AADSTS70043: expired)"),
        (ServiceRequestError("no route to host"), "Azure is unreachable: no route to host"),
        (KeyError("value"), "unexpected answer"),
        (TimeoutError("timed out"), "Azure is unreachable: timed out"),
    ],
)
def test_what_goes_wrong_is_said_and_never_raised(error: Exception, words: str) -> None:
    def read() -> None:
        raise error

    def well() -> int:
        return 1

    found = fetch({"bad": read, "good": well})
    assert words in found["bad"].missing
    assert (found["good"].value, found["good"].missing) == (1, "")


def test_a_login_is_asked_for_once_for_all_lists() -> None:
    class Login:
        asked = 0

        def get_token(self, *scopes: str, **options: Any) -> Any:
            self.asked += 1
            raise ClientAuthenticationError(message="expired")

    login = Login()
    shared = SharedCredential(login)
    found = fetch({number: lambda: shared.get_token("scope") for number in range(8)})
    assert all("az login" in outcome.missing for outcome in found.values())
    assert login.asked == 1


def test_lists_are_read_at_once() -> None:
    all_there = threading.Barrier(4)
    found = fetch({number: lambda: all_there.wait(timeout=SECONDS) for number in range(4)})
    assert {outcome.missing for outcome in found.values()} == {""}


def test_a_list_that_takes_too_long_is_given_up() -> None:
    never = threading.Event()
    assert fetch({"list": never.wait}, limit_seconds=0.0)["list"].missing == "no answer within 0 seconds"
    never.set()
