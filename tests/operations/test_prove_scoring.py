"""What `prove` sends to an endpoint, and what a refusal is called."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.machine_learning.endpoints import Endpoint
from azure_gpu_operations.prove import scoring
from azure_gpu_operations.prove.scoring import Sent, bearer_of, best, refusal, send
from tests.support import web
from tests.support.web import Answer

URL = "http://127.0.0.1:8080/score"
KEY = "k-4f1c9a7e22b84d0f"


def asked(status: int, headers: Mapping[str, str] = {}, failure: Exception | None = None) -> tuple[list[Any], list[Sent]]:
    """The requests of two images, and their answers."""
    seen: list[Any] = []

    def answer(request: requests.PreparedRequest, session: object) -> Answer:
        seen.append((session, request))
        if failure is not None:
            raise failure
        return Answer(status, headers, [b"{}"])

    with web.answered(answer):
        return seen, send(URL, lambda: KEY, [b"one", b"two"], 5.0)


def test_images_are_sent_as_they_are_with_the_key_by_one_connection() -> None:
    seen, sent = asked(200, {"Ms-Thing": "x"})
    assert [request.body for _, request in seen] == [b"one", b"two"]
    assert len({id(session) for session, _ in seen}) == 1
    headers = seen[0][1].headers
    assert (headers["Authorization"], headers["Content-Type"]) == (f"Bearer {KEY}", "image/png")
    assert [(one.status, one.is_good, one.body, one.headers["ms-thing"]) for one in sent] == [(200, True, b"{}", "x")] * 2


@pytest.mark.parametrize(("status", "header"), [(307, "Location"), (503, "Retry-After")])
def test_a_redirection_and_a_refusal_are_not_followed_by_a_second_request(status: int, header: str) -> None:
    seen, sent = asked(status, {header: URL if status == 307 else "0"})
    assert (len(seen), [one.is_good for one in sent]) == (2, [False, False])


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (requests.ConnectionError("connection refused"), "127.0.0.1:8080 can't be reached: connection refused"),
        (requests.ConnectTimeout(), "127.0.0.1:8080 doesn't accept connections"),
        (requests.ReadTimeout(), "no answer within 5 s"),
        (requests.exceptions.SSLError("self-signed"), "the certificate of 127.0.0.1:8080 isn't trusted here: self-signed"),
    ],
)
def test_a_server_that_does_not_answer_is_said_in_a_line(failure: Exception, told: str) -> None:
    _, sent = asked(200, failure=failure)
    assert (sent[0].status, refusal(sent[0], "digits", "dev").what) == (0, told)


class Arm:
    """Answers the actions of an endpoint; signs in as somebody."""

    login = SimpleNamespace(credential=SimpleNamespace(get_token=lambda scope: SimpleNamespace(token=f"token for {scope}")))

    def __init__(self, answer: Mapping[str, str] | AzureError) -> None:
        self.answer = answer

    def post(self, path: str, version: str) -> Mapping[str, str]:
        if isinstance(self.answer, AzureError):
            raise self.answer
        return {**self.answer, "path": path}


def endpoint(auth: str) -> Endpoint:
    properties = {"authMode": auth, "scoringUri": URL}
    return scoring_endpoint({"id": "/e", "name": "digits", "properties": properties})


def scoring_endpoint(body: Any) -> Endpoint:
    from azure_gpu_operations.machine_learning import endpoints

    arm: Any = SimpleNamespace(get=lambda *_: body)
    found = endpoints.get(arm, "/e")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("auth", "bearer"),
    [("Key", "of listKeys"), ("AMLToken", "of token"), ("AADToken", "token for https://ml.azure.com/.default")],
)
def test_a_request_is_authorized_by_the_endpoints_method(auth: str, bearer: str) -> None:
    arm: Any = Arm({"primaryKey": "of listKeys", "accessToken": "of token"})
    assert bearer_of(arm, endpoint(auth))() == bearer


def test_a_login_that_may_not_read_the_key_is_told_its_role() -> None:
    arm: Any = Arm(AzureError("no", 403))
    with pytest.raises(AzureError, match="may not read the endpoint's key; it needs the role AzureML Data Scientist"):
        bearer_of(arm, endpoint("Key"))
    arm = Arm({})
    with pytest.raises(AzureError, match="without primaryKey"):
        bearer_of(arm, endpoint("Key"))


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        (b'{"scores": [[0.1, 0.7, 0.2]], "output": "scores"}', "1"),
        (b"no", ""),
        (b"[1]", ""),
        (b'{"scores": []}', ""),
        (b'{"scores": [["a", 1]]}', ""),
        (b'{"scores": [[]]}', ""),
        (b'{"message": "hello"}', ""),
        (b"[" * 5000, ""),
    ],
)
def test_the_class_is_that_of_the_highest_score(answer: bytes, label: str) -> None:
    assert best(answer) == label


@pytest.mark.parametrize(
    ("status", "model", "what", "fix"),
    [
        (401, "", "rejects this key or token", "AzureML Data Scientist"),
        (404, "", "no deployment takes this request", "start digits --stack dev"),
        (408, "", "longer than its request timeout", "timeout_seconds"),
        (429, "", "more requests are waiting", "instances"),
        (503, "", "no instance of the deployment is ready", "explain digits --stack dev"),
        (424, "", "server rejected the request", "explain digits --stack dev"),
        (424, "400", "the scoring script answered 400", "explain"),
        (424, "500", "the scoring script raised an exception", "log"),
        (424, "9" * 5000, "server rejected the request", "log"),
        (418, "", "it answers 418", "log"),
    ],
)
def test_a_refusal_is_said_in_words_with_the_likely_fix(status: int, model: str, what: str, fix: str) -> None:
    found = refusal(Sent(status, 0.1, headers={scoring.MODEL_STATUS: model} if model else {}), "digits", "dev")
    assert what in found.what
    assert fix in found.fix
