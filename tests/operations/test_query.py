"""`query` against a server of the test's own: what is sent, what is measured, and what a refusal is called."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from PIL import Image

from azure_gpu_operations.__main__ import main
from azure_gpu_operations.query import inputs, sending
from azure_gpu_operations.query.refusals import refusal
from azure_gpu_operations.query.sending import Sent, server_seconds
from azure_gpu_operations.query.showing import latency, score_rows
from tests.support import web
from tests.support.web import Answer

KEY = "k-4f1c9a7e22b84d0f"


class Server:
    """Answers as a scoring server does. `answer(number)` gives status, body and headers of a request."""

    url = "http://127.0.0.1:8080/score"

    def __init__(self) -> None:
        self.requests: list[tuple[Mapping[str, str | bytes], bytes]] = []
        self.sessions: set[object] = set()  # of clients, each with connections of its own
        self.body: Iterable[bytes] | None = None  # in place of the answer's
        self.answer: Callable[[int], tuple[int, Any, dict[str, str]]] = lambda number: (200, {"scores": [[0.1, 0.7, 0.2]]}, {})

    def __call__(self, request: requests.PreparedRequest, session: object) -> Answer:
        assert isinstance(request.body, bytes)
        self.requests.append((request.headers, request.body))
        self.sessions.add(session)
        status, content, headers = self.answer(len(self.requests) - 1)
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        return Answer(status, headers, self.body or [data])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("SCORING_KEY", KEY)
    running = Server()
    with web.answered(running):
        yield running


@pytest.fixture
def image(tmp_path: Path) -> Path:
    file = tmp_path / "red.png"
    Image.new("RGB", (8, 8), (200, 0, 0)).save(file)
    return file


def query(server: Server, *words: str) -> int:
    return main(["query", "--url", server.url, "--key-from", "SCORING_KEY", *words])


# What is sent


def test_an_image_is_sent_as_it_is_with_the_key_and_the_deployment(server: Server, image: Path) -> None:
    assert query(server, str(image), "--deployment", "green") == 0
    headers, body = server.requests[0]
    assert body == image.read_bytes()
    assert (headers["Authorization"], headers["Content-Type"]) == (f"Bearer {KEY}", "image/png")
    assert headers["azureml-model-deployment"] == "green"


def test_arrays_are_sent_as_json_or_as_numpy_wrote_them(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"inputs": [[1, 2]]}')
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00")
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    (tmp_path / "a.bin").write_bytes(b"x")
    found = inputs.read(tmp_path / f"a.{end}" for end in ("json", "npy", "jpg", "bin"))
    assert [one.content_type for one in found] == [
        "application/json",
        "application/x-npy",
        "image/jpeg",
        "application/octet-stream",
    ]


def test_every_file_that_cannot_be_sent_is_named_before_anything_is(
    server: Server, image: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.png").touch()
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    names = ("empty.png", "broken.json", "deep.json", "gone.png")
    assert query(server, str(image), *(str(tmp_path / name) for name in names)) == 2
    told = capsys.readouterr().err
    assert "the file is empty" in told
    assert told.count("not JSON") == 2
    assert "gone.png: No such file or directory" in told
    assert not server.requests


def test_the_key_is_nowhere_in_what_is_printed(server: Server, image: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server.answer = lambda number: (401, {"error": {"code": "key_auth_access_denied", "message": "no"}}, {})
    assert query(server, str(image)) == 1
    assert query(server, str(image), "--json") == 1
    told = capsys.readouterr()
    assert KEY not in told.out + told.err


@pytest.mark.parametrize(
    ("status", "header", "said"),
    [(307, "Location", "no key is sent"), (503, "Retry-After", "no instance of the deployment is ready")],
)
def test_a_redirection_and_a_refusal_are_not_followed_by_a_second_request(
    server: Server, image: Path, capsys: pytest.CaptureFixture[str], status: int, header: str, said: str
) -> None:
    server.answer = lambda number: (status, b"", {header: server.url if status == 307 else "0"})
    assert query(server, str(image)) == 1
    assert len(server.requests) == 1
    assert said in capsys.readouterr().out


def test_a_byte_now_and_then_has_no_more_time_than_a_request_has(
    server: Server, image: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = itertools.count(0, 0.1)  # seconds pass with each look at it
    monkeypatch.setattr(sending, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    server.body = itertools.repeat(b" ")
    assert query(server, str(image), "--timeout", "0.5") == 1
    assert "no answer within 0.5 s" in capsys.readouterr().out


@pytest.mark.parametrize("key", ["", f"{KEY}\r", f" {KEY}", f"{KEY}\u201d", "two words"])
def test_what_is_no_key_is_refused_and_not_shown(
    server: Server, image: Path, key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SCORING_KEY", key)
    assert query(server, str(image)) == 2
    told = capsys.readouterr().err
    assert "SCORING_KEY contains no valid key" in told
    assert KEY not in told
    assert not server.requests


# What is measured


def test_many_requests_by_some_clients_with_percentiles_and_shares(
    server: Server, image: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = lambda number: "green" if number % 10 == 0 else "blue"  # noqa: E731
    timing = {"Server-Timing": "decode;dur=0.1, total;dur=0.001"}
    server.answer = lambda number: (200, [[1, 0]], {"azureml-model-deployment": named(number), **timing})
    assert query(server, str(image), "--count", "40", "--clients", "4", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["requests"], told["answered"], told["statuses"]) == (40, 40, {"200": 40})
    assert told["deployments"] == {"green": 4, "blue": 36}
    assert len(server.sessions) <= 4, "each client keeps its connection"
    assert told["latency_seconds"]["server"]["p99"] == 0.000001
    assert told["latency_seconds"]["all"]["requests"] == 40 - len(server.sessions)
    assert told["latency_seconds"]["network"]["p50"] == pytest.approx(told["latency_seconds"]["all"]["p50"] - 0.000001)


def test_percentiles_are_measured_values_by_nearest_rank() -> None:
    found = latency([float(each) for each in range(1, 101)])
    assert found is not None
    assert (found.least, found.p50, found.p90, found.p99, found.most) == (1, 50, 90, 99, 100)
    assert latency([]) is None
    assert latency([3.0]) == (1, 3, 3, 3, 3, 3)


@pytest.mark.parametrize(
    ("header", "run", "seconds"),
    [
        ("total;dur=3.2", "", 0.0032),
        ('receive;dur=100, decode;desc="x";dur=1, total;dur=2', "9", 0.002),
        ("score;dur=1, encode;dur=2", "", 0.003),
        ("score;dur=1", "9.5", 0.0095),
        ("", "7", 0.007),
        ("miss, hit;dur=x", "", None),
        ("", "", None),
    ],
)
def test_the_servers_own_time_is_read_where_it_says_one(header: str, run: str, seconds: float | None) -> None:
    assert server_seconds(header, run) == pytest.approx(seconds)


# What is shown


def test_the_highest_scores_stand_under_the_name_of_the_file(
    server: Server, image: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.txt"
    labels.write_text("cat\ndog\nlynx\n")
    assert query(server, str(image), "--labels", str(labels), "--top", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("red.png: 200, ")
    assert [line.split()[:2] for line in lines[1:]] == [["dog", "0.7000"], ["lynx", "0.2000"]]


@pytest.mark.parametrize(
    ("answer", "first"),
    [
        ([0.1, 0.9], ("1", 0.9)),
        ([[0.1, 0.9]], ("1", 0.9)),
        ({"scores": [[0.1, 0.9]], "output": "scores", "others": {"x": [[1]]}}, ("1", 0.9)),
        ({"cat": 0.2, "dog": 0.8}, ("dog", 0.8)),
        ([{"label": "cat", "score": 0.2}, {"label": "dog", "score": 0.8}], ("dog", 0.8)),
        ("[0.1, 0.9]", ("1", 0.9)),
        ({"anything": [[0.1, 0.9]]}, ("1", 0.9)),
    ],
)
def test_scores_are_found_in_the_forms_in_which_scripts_answer(answer: Any, first: tuple[str, float]) -> None:
    (row,) = score_rows(json.dumps(answer).encode())
    assert row[0] == first


@pytest.mark.parametrize(
    "answer",
    [b"", b"no", b"{}", b"[]", b"null", b'{"message": "hello"}', b"[" * 5000, b"[[1], [2, [3]]]", b"[1%s]" % (b"0" * 400)],
)
def test_an_answer_without_scores_has_none(answer: bytes) -> None:
    assert score_rows(answer) == []


def test_several_images_in_one_request_have_a_row_each() -> None:
    found = score_rows(b'{"scores": [[1, 0], [0, 1]]}', ["cat", "dog"])
    assert [row[0].label for row in found] == ["cat", "dog"]


# Refusals


@pytest.mark.parametrize(
    ("status", "headers", "what", "fix"),
    [
        (401, {}, "rejects this key or token", "AzureML Data Scientist"),
        (404, {}, "no deployment takes this request", "traffic"),
        (408, {}, "longer than its request timeout", "timeout_seconds"),
        (429, {}, "more requests are waiting", "--clients"),
        (429, {"retry-after": "3"}, "more requests are waiting", "wait 3 s"),
        (503, {}, "no instance of the deployment is ready", "explain digits --stack dev"),
        (424, {}, "server rejected the request", "explain digits --stack dev"),
        (424, {"ms-azureml-model-error-statuscode": "400"}, "the scoring script rejects this input", "message"),
        (424, {"ms-azureml-model-error-statuscode": "500"}, "the scoring script raised an exception", "log"),
        (424, {"ms-azureml-model-error-statuscode": "9" * 5000}, "server rejected the request", "log"),
        (418, {}, "unexpected HTTP status", "log"),
    ],
)
def test_a_refusal_is_said_in_words_with_the_likely_fix(status: int, headers: dict[str, str], what: str, fix: str) -> None:
    found = refusal(Sent(0, status, 0.1, headers=headers), "digits", "dev")
    assert what in found.what
    assert fix in found.fix


def test_what_the_server_says_is_shown_without_what_a_terminal_acts_upon() -> None:
    body = json.dumps({"message": "no image\x1b]0;owned\x07", "expected": "a PNG"}).encode()
    assert refusal(Sent(0, 400, 0.1, body)).said == "no image ]0;owned ; expected: a PNG"
    assert refusal(Sent(0, 404, 0.1, b'{"error": {"code": "x", "message": "gone"}}')).said == "gone"
    assert len(refusal(Sent(0, 500, 0.1, b"x" * 10_000)).said) == 301


def test_a_server_that_is_not_there_is_said_in_a_line(
    server: Server, image: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(_: int) -> Any:
        raise requests.ConnectionError("connection refused")

    server.answer = refused
    assert query(server, str(image)) == 1
    told = capsys.readouterr().out
    assert "red.png: no answer" in told
    assert "127.0.0.1:8080 can't be reached: connection refused" in told
