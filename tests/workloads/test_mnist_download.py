"""Downloading: only the right bytes are kept, and whatever goes wrong is told for every file. The server is on loopback."""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.workloads.workload_runs import Finished
from workloads.mnist.mnist_training import files
from workloads.mnist.mnist_training.download import download
from workloads.mnist.mnist_training.refusal import RefusedError

CONTENT = {f"{kind.name}.gz": kind.name.encode() * 50_000 for kind in files.KINDS}
KINDS = tuple(
    dataclasses.replace(kind, gzip_sha256=hashlib.sha256(CONTENT[f"{kind.name}.gz"]).hexdigest()) for kind in files.KINDS
)


class Mirror(ThreadingHTTPServer):
    """Serves `content` by name and remembers what was asked for; what is in `cut` breaks off halfway."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = dict(CONTENT)
        self.cut: set[str] = set()
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}/mnist"


class _Handler(BaseHTTPRequestHandler):
    server: Mirror

    def do_GET(self) -> None:
        name = self.path.removeprefix("/mnist/")
        self.server.asked.append(name)
        content = self.server.content.get(name)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if name in self.server.cut else content)

    def log_message(self, format: str, *args: object) -> None:
        """Keeps the test's output quiet."""


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with Mirror() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def problems_of(folder: Path, mirror: str) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        download(folder, mirror, KINDS)
    return refused.value.problems


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_four_files_arrive_and_are_announced_as_in_the_article(
    tmp_path: Path, mirror: Mirror, capsys: pytest.CaptureFixture
) -> None:
    download(tmp_path, mirror.url, KINDS)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == CONTENT
    output = capsys.readouterr()
    size = len(CONTENT["train-images-idx3-ubyte.gz"])
    assert output.out.splitlines()[0] == f"Successfully downloaded train-images-idx3-ubyte.gz {size} bytes."
    assert "train-images-idx3-ubyte.gz: 100% of 1.1 MB" in output.err.splitlines()


def test_what_is_there_already_is_not_asked_for_again(tmp_path: Path, mirror: Mirror) -> None:
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(CONTENT["train-images-idx3-ubyte.gz"])
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(b"damaged since")
    download(tmp_path, mirror.url + "/", KINDS)
    assert mirror.asked == ["train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"]
    assert (tmp_path / "train-labels-idx1-ubyte.gz").read_bytes() == CONTENT["train-labels-idx1-ubyte.gz"]


def test_other_bytes_than_the_published_ones_are_refused_and_not_kept(tmp_path: Path, mirror: Mirror) -> None:
    mirror.content["t10k-labels-idx1-ubyte.gz"] = b"something else"
    (problem,) = problems_of(tmp_path, mirror.url)
    assert problem.startswith(
        f"{tmp_path}/t10k-labels-idx1-ubyte.gz: {mirror.url}/t10k-labels-idx1-ubyte.gz has the wrong checksum"
    )
    assert hashlib.sha256(b"something else").hexdigest() in problem
    assert KINDS[3].gzip_sha256 in problem
    assert names_in(tmp_path) == set(CONTENT) - {"t10k-labels-idx1-ubyte.gz"}


def test_every_file_that_cannot_be_had_is_told(tmp_path: Path, mirror: Mirror) -> None:
    del mirror.content["train-images-idx3-ubyte.gz"]
    mirror.cut.add("t10k-images-idx3-ubyte.gz")
    missing, cut = problems_of(tmp_path, mirror.url)
    assert "train-images-idx3-ubyte.gz can't be downloaded: HTTP 404 Not Found" in missing
    size = len(CONTENT["t10k-images-idx3-ubyte.gz"])
    assert f"t10k-images-idx3-ubyte.gz can't be downloaded: the connection ended after {size // 2} of {size} bytes" in cut
    assert names_in(tmp_path) == {"train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}


def test_a_server_that_is_not_there_is_told_for_each_file(tmp_path: Path, mirror: Mirror) -> None:
    mirror.shutdown()
    mirror.server_close()
    problems = problems_of(tmp_path, mirror.url)
    assert len(problems) == 4
    assert all("Connection refused" in problem for problem in problems)
    assert names_in(tmp_path) == set()


def test_the_program_refuses_a_mirror_with_other_data(tmp_path: Path, mirror: Mirror, refuse: Callable[..., Finished]) -> None:
    finished = refuse("--download", "--mirror", mirror.url, "--data-dir", tmp_path / "MNIST")
    assert finished.code == 2
    assert len(finished.report["problems"]) == 4
    assert "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609" in finished.report["problems"][0]
    assert names_in(tmp_path / "MNIST") == set()
