"""Whether a cluster accepts a kubeconfig, against a TLS server with an API server's responses, and without any server."""

import base64
import json
import ssl
import stat
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from azure_gpu.kubernetes.api_server import (
    LoginFailedError,
    NotAllowedError,
    Permission,
    answer_problem,
    is_allowed,
    wait_until_allowed,
)

TOKEN = "a-token-that-the-server-knows"
CREATE_JOBS = Permission(verb="create", resource="jobs", group="batch")


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self._answer(401, {"kind": "Status", "code": 401})
        else:
            self._answer(200, {"gitVersion": "v1.36.2"})

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        attributes = review["spec"]["resourceAttributes"]
        server: Any = self.server
        server.reviews.append(attributes)
        self._answer(201, {"status": {"allowed": len(server.reviews) >= server.allowed_from}})

    def _answer(self, status: int, body: object) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadingHTTPServer]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "cluster")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    pair = tmp_path_factory.mktemp("tls") / "pair.pem"
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    pair.write_bytes(pem + private)
    made = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pair)
    made.socket = tls.wrap_socket(made.socket, server_side=True)
    made.certificate = base64.b64encode(pem).decode()  # type: ignore[attr-defined]
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture(autouse=True)
def no_reviews(server: Any) -> None:
    server.reviews = []
    server.allowed_from = 1


def kubeconfig(answering: Any, user: dict[str, Any], **cluster: Any) -> str:
    address = f"https://127.0.0.1:{answering.server_port}"
    there = {"server": address, "certificate-authority-data": answering.certificate, **cluster}
    return yaml.safe_dump(
        {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {key: value for key, value in there.items() if value is not None}}],
            "users": [{"name": "u", "user": user}],
        }
    )


def test_a_cluster_that_answers_is_no_problem(server: Any) -> None:
    assert answer_problem(kubeconfig(server, {"token": TOKEN}), "", "edges.box.kubeconfig") is None


def test_a_login_that_the_cluster_doesnt_know_is_told_without_it(server: Any) -> None:
    problem = answer_problem(kubeconfig(server, {"token": "of-yesterday"}), "", "edges.box.kubeconfig")
    assert problem is not None
    assert "rejects this login" in problem.message
    assert "of-yesterday" not in str(problem)


@pytest.mark.parametrize(
    ("user", "cluster", "part"),
    [
        ({"token": TOKEN}, {"server": "https://127.0.0.1:1"}, "doesn't answer"),
        ({"token": TOKEN}, {"certificate-authority-data": None}, "doesn't answer"),
        ({"token": TOKEN}, {"certificate-authority-data": "no Base64"}, "isn't Base64"),
        ({"token": TOKEN}, {"certificate-authority-data": "QUFB"}, "can't be read"),
        ({"client-certificate-data": "QUFB", "client-key-data": "QUFB"}, {}, "a certificate in the kubeconfig can't be read"),
        ({"tokenFile": "/nowhere/token"}, {}, "/nowhere/token, which the kubeconfig names, can't be read"),
        ({"exec": {"command": "a-command-that-nobody-has"}}, {}, "a-command-that-nobody-has, which isn't on PATH"),
    ],
    ids=[
        "nobody-there",
        "unknown-authority",
        "no-base64",
        "no-certificate",
        "no-client-certificate",
        "no-token-file",
        "no-command",
    ],
)
def test_a_cluster_that_doesnt_answer_is_one_problem(server: Any, user: Any, cluster: dict[str, Any], part: str) -> None:
    problem = answer_problem(kubeconfig(server, user, **cluster), "", "edges.box.kubeconfig")
    assert problem is not None
    assert problem.path == "edges.box.kubeconfig"
    assert part in problem.message
    assert problem.value is None
    assert TOKEN not in str(problem)


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_command_of_the_kubeconfig_is_asked_for_the_token_as_kubectl_asks_it(server: Any, tmp_path: Path) -> None:
    command = script(
        tmp_path / "login",
        'case "$KUBERNETES_EXEC_INFO" in *interactive*) ;; *) exit 1;; esac\necho "{\\"status\\": {\\"token\\": \\"$1$REST\\"}}"',
    )
    plugin = {"command": command, "args": [TOKEN[:5]], "env": [{"name": "REST", "value": TOKEN[5:]}]}
    assert answer_problem(kubeconfig(server, {"exec": plugin}), "", "p") is None


def test_a_command_that_fails_is_named_and_what_it_wrote_is_not_told(server: Any, tmp_path: Path) -> None:
    command = script(tmp_path / "login", "echo a-password >&2; exit 7")
    problem = answer_problem(kubeconfig(server, {"exec": {"command": command}}), "", "p")
    assert problem is not None
    assert "failed with exit code 7" in problem.message
    assert "a-password" not in str(problem)


def test_a_right_is_asked_for_as_kubernetes_wants_it(server: Any) -> None:
    assert is_allowed(kubeconfig(server, {"token": TOKEN}), CREATE_JOBS)
    assert server.reviews == [{"verb": "create", "resource": "jobs", "group": "batch"}]


def test_waiting_ends_when_the_role_is_there_and_tells_when_it_never_comes(server: Any) -> None:
    server.allowed_from = 3
    pauses: list[float] = []
    wait_until_allowed(kubeconfig(server, {"token": TOKEN}), CREATE_JOBS, 60, now=lambda: 0, pause=pauses.append)
    asked = [review.pop("namespace") for review in server.reviews]
    assert len(set(asked)) == 3, "a refusal that the cluster remembers is asked about once"
    assert server.reviews == [{"verb": "create", "resource": "jobs", "group": "batch"}] * 3
    assert pauses == [3, 4]
    server.allowed_from = 100
    clock = iter(range(0, 100, 20))
    with pytest.raises(NotAllowedError, match="after 30 seconds, the cluster still refuses create jobs"):
        wait_until_allowed(kubeconfig(server, {"token": TOKEN}), CREATE_JOBS, 30, now=lambda: next(clock), pause=pauses.append)


def test_waiting_ends_soon_where_the_login_itself_fails(server: Any) -> None:
    pauses: list[float] = []
    config = kubeconfig(server, {"exec": {"command": "a-command-that-nobody-has"}})
    with pytest.raises(LoginFailedError, match="isn't on PATH"):
        wait_until_allowed(config, CREATE_JOBS, 300, now=lambda: 0, pause=pauses.append)
    assert len(pauses) == 2
