"""The training's SavedModel goes to blob storage by managed identity; what can't work is told, before the training where it can.

The identity's endpoint and the storage account here are servers of this test: they write down what Azure's clients ask of them.
"""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
import trustme
from azure.core.pipeline.transport import RequestsTransport

from tests.support.requests_in_process import session
from tests.workloads.mnist_workers import Trainings
from tests.workloads.workload_runs import Finished, write_data
from workloads.mnist.mnist_training import upload
from workloads.mnist.mnist_training.refusal import RefusedError

TOKEN = "a-token-of-the-identity"


class Account:
    """A storage account and the identity endpoint beside it."""

    def __init__(self, folder: Path) -> None:
        self.blobs: dict[str, bytes] = {}
        self.asked: list[str] = []
        account = self

        class Identity(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                account.asked.append(self.path)
                body = json.dumps({"access_token": TOKEN, "expires_in": 3600, "resource": "https://storage.azure.com"}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        class Blobs(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                assert self.headers["Authorization"] == f"Bearer {TOKEN}"
                account.blobs[self.path] = content
                self.send_response(201)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        authority = trustme.CA()
        authority.cert_pem.write_to_path(folder / "authority.pem")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("localhost").configure_cert(context)
        self.identity = ThreadingHTTPServer(("127.0.0.1", 0), Identity)
        self.storage = ThreadingHTTPServer(("127.0.0.1", 0), Blobs)
        self.storage.socket = context.wrap_socket(self.storage.socket, server_side=True)
        for server in (self.identity, self.storage):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"https://localhost:{self.storage.server_port}/models/mnist/1"
        self.environment = {
            "AZURE_POD_IDENTITY_AUTHORITY_HOST": f"http://127.0.0.1:{self.identity.server_port}",
            "AZURE_CLIENT_ID": "11111111-2222-3333-4444-555555555555",
            "SSL_CERT_FILE": str(folder / "authority.pem"),
            "REQUESTS_CA_BUNDLE": str(folder / "authority.pem"),
        }

    def close(self) -> None:
        for server in (self.identity, self.storage):
            server.shutdown()
            server.server_close()


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    made = Account(tmp_path)
    yield made
    made.close()


@pytest.mark.slow
def test_the_saved_model_is_uploaded_and_answers_probabilities(trainings: Trainings, tmp_path: Path, account: Account) -> None:
    output = tmp_path / "output"
    options = ("--data-dir", write_data(tmp_path / "data"), "--steps", "10", "--batch-size", "10", "--upload-to", account.url)
    done = trainings.train(output, *options, environment=account.environment)
    assert done.code == 0, done.stderr
    folder = output / "saved_model"
    assert (done.report["saved_model"], done.report["uploaded_to"]) == (str(folder), account.url)
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert account.blobs == {f"/models/mnist/1/{name}": content for name, content in files.items()}
    assert {"saved_model.pb", "variables/variables.index"} <= set(files)
    assert all("resource=https" in asked and "client_id=11111111-2222" in asked for asked in account.asked)
    assert TOKEN not in done.stdout + done.stderr

    program = """
import sys, numpy as np, tensorflow as tf
serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
(name, spec), = serve.structured_input_signature[1].items()
print(name, spec.dtype.name, spec.shape.as_list(), list(serve.structured_outputs))
scores = serve(image=np.zeros((3, 8, 8), np.uint8))["scores"].numpy()
print(scores.shape, np.allclose(scores.sum(1), 1), (scores >= 0).all())
"""
    asked = trainings.run(tmp_path / "asked", program, folder)
    assert asked.lines[-2:] == ["image uint8 [None, 8, 8] ['scores']", "(3, 10) True True"], asked.stderr


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[httpx.Request], httpx.Response]], None]:
    """Has a function answer the requests of Azure's clients in this process."""
    monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://identity.example")

    def set_to(function: Callable[[httpx.Request], httpx.Response]) -> None:
        transport = RequestsTransport(session=session(function), session_owner=False)
        monkeypatch.setitem(upload._QUICK, "transport", transport)
        monkeypatch.setitem(upload._QUICK, "retry_total", 0)

    return set_to


def test_a_storage_account_that_refuses_is_told_with_the_role_that_is_missing(
    answer: Callable[[Callable[[httpx.Request], httpx.Response]], None], tmp_path: Path
) -> None:
    def answered(request: httpx.Request) -> httpx.Response:
        if request.url.host == "identity.example":
            return httpx.Response(200, json={"access_token": TOKEN, "expires_in": 3600, "resource": "https://storage.azure.com"})
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        return httpx.Response(403, headers={"x-ms-error-code": "AuthorizationPermissionMismatch"})

    answer(answered)
    (tmp_path / "saved_model.pb").write_bytes(b"model")
    with pytest.raises(RefusedError) as refused:
        upload.Upload("https://account.example/models/mnist/1").send(tmp_path)
    assert refused.value.problems == [
        "--upload-to: https://account.example/models/mnist/1/saved_model.pb: 403 AuthorizationPermissionMismatch; "
        "the identity needs the role Storage Blob Data Contributor, which takes minutes to work"
    ]


def test_without_an_identity_the_training_does_not_begin(
    answer: Callable[[Callable[[httpx.Request], httpx.Response]], None], refuse: Callable[..., Finished], tmp_path: Path
) -> None:
    def nobody(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody listens there")

    answer(nobody)
    data = write_data(tmp_path / "data")
    done = refuse("--data-dir", data, "--batch-size", "10", "--upload-to", "https://a.blob.core.windows.net/models")
    assert done.code == 2
    (problem,) = done.report["problems"]
    assert problem.startswith("--upload-to: no token from a managed identity: ")
    assert not (tmp_path / "output" / "checkpoint.npz").exists()
