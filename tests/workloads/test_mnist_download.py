"""Downloading: only the right bytes are kept, and whatever goes wrong is told for every file. The server is in this process."""

import hashlib
import http.client
import io
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tests.workloads.workload_runs import Finished
from workloads.mnist.mnist_training import files
from workloads.mnist.mnist_training.refusal import RefusedError
from workloads.mnist.mnist_training.sources import download

CONTENT = {f"{kind.name}.gz": kind.name.encode() * 50_000 for kind in files.KINDS}
KINDS = tuple(kind._replace(gzip_sha256=hashlib.sha256(CONTENT[f"{kind.name}.gz"]).hexdigest()) for kind in files.KINDS)


URL = "http://mirror.example/mnist"


class Mirror(urllib.request.HTTPHandler):
    """Serves `content` to urllib by name and remembers what was asked for; what is in `cut` breaks off halfway."""

    def __init__(self) -> None:
        super().__init__()
        self.content = dict(CONTENT)
        self.cut: set[str] = set()
        self.asked: list[str] = []
        self.gone = False

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        if self.gone:
            raise urllib.error.URLError(ConnectionRefusedError(111, "Connection refused"))
        name = req.full_url.removeprefix(f"{URL}/")
        self.asked.append(name)
        content = self.content.get(name)
        status, body = ("200 OK", content) if content is not None else ("404 Not Found", b"")
        sent = body[: len(body) // 2] if name in self.cut else body
        received = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + sent
        answer = http.client.HTTPResponse(cast(socket.socket, Wire(received)))
        answer.begin()
        answer.msg = answer.reason  # as urllib has it
        return answer


class Wire:
    """What a connection has received."""

    def __init__(self, received: bytes) -> None:
        self._received = received

    def makefile(self, *_: object) -> io.BytesIO:
        return io.BytesIO(self._received)


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Mirror:
    made = Mirror()
    monkeypatch.setattr(urllib.request, "_opener", urllib.request.build_opener(made))
    return made


def problems_of(folder: Path) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        download(folder, URL, KINDS)
    return refused.value.problems


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_four_files_arrive_and_are_announced_as_in_the_article(
    tmp_path: Path, mirror: Mirror, capsys: pytest.CaptureFixture
) -> None:
    download(tmp_path, URL, KINDS)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == CONTENT
    output = capsys.readouterr()
    size = len(CONTENT["train-images-idx3-ubyte.gz"])
    assert output.out.splitlines()[0] == f"Successfully downloaded train-images-idx3-ubyte.gz {size} bytes."
    assert f"Downloading {URL}/train-images-idx3-ubyte.gz, 1.1 MB" in output.err.splitlines()


def test_what_is_there_already_is_not_asked_for_again(tmp_path: Path, mirror: Mirror) -> None:
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(CONTENT["train-images-idx3-ubyte.gz"])
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(b"damaged since")
    download(tmp_path, f"{URL}/", KINDS)
    assert mirror.asked == ["train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"]
    assert (tmp_path / "train-labels-idx1-ubyte.gz").read_bytes() == CONTENT["train-labels-idx1-ubyte.gz"]


def test_other_bytes_than_the_published_ones_are_refused_and_not_kept(tmp_path: Path, mirror: Mirror) -> None:
    mirror.content["t10k-labels-idx1-ubyte.gz"] = b"something else"
    (problem,) = problems_of(tmp_path)
    assert problem.startswith(f"{tmp_path}/t10k-labels-idx1-ubyte.gz: {URL}/t10k-labels-idx1-ubyte.gz has the wrong checksum")
    assert hashlib.sha256(b"something else").hexdigest() in problem
    assert KINDS[3].gzip_sha256 in problem
    assert names_in(tmp_path) == set(CONTENT) - {"t10k-labels-idx1-ubyte.gz"}


def test_every_file_that_cannot_be_had_is_told(tmp_path: Path, mirror: Mirror) -> None:
    del mirror.content["train-images-idx3-ubyte.gz"]
    mirror.cut.add("t10k-images-idx3-ubyte.gz")
    missing, cut = problems_of(tmp_path)
    assert "train-images-idx3-ubyte.gz can't be downloaded: HTTP 404 Not Found" in missing
    size = len(CONTENT["t10k-images-idx3-ubyte.gz"])
    assert f"t10k-images-idx3-ubyte.gz can't be downloaded: the connection ended after {size // 2} of {size} bytes" in cut
    assert names_in(tmp_path) == {"train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}


def test_a_server_that_is_not_there_is_told_for_each_file(tmp_path: Path, mirror: Mirror) -> None:
    mirror.gone = True
    problems = problems_of(tmp_path)
    assert len(problems) == 4
    assert all("Connection refused" in problem for problem in problems)
    assert names_in(tmp_path) == set()


def test_the_program_refuses_a_mirror_with_other_data(tmp_path: Path, mirror: Mirror, refuse: Callable[..., Finished]) -> None:
    finished = refuse("--download", "--mirror", URL, "--data-dir", tmp_path / "MNIST")
    assert finished.code == 2
    assert len(finished.report["problems"]) == 4
    assert "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609" in finished.report["problems"][0]
    assert names_in(tmp_path / "MNIST") == set()
