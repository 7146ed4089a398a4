"""The request of a probe, by itself: what can't be asked is a failed try that says why."""

import pytest

from localazure.containers import shim_probes


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"headers": {"X-A": "one\r\ntwo"}}, "Invalid header value"),
        ({"path": "/ä"}, "can't encode"),
        ({"path": "/a b"}, "URL can't contain control characters"),
    ],
)
def test_a_request_that_cannot_be_written_fails(asked: dict[str, object], why: str, capfd: pytest.CaptureFixture[str]) -> None:
    request = {"port": 1, "path": "/", "scheme": "http", "headers": {}, **asked}
    assert shim_probes._ask(request, 1) == 1
    assert why in capfd.readouterr().out
