"""Whether a cluster accepts a kubeconfig: with an API server's responses in this process, and once over TLS."""

import base64
import io
import json
import ssl
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.response import addinfourl

import pytest
import trustme
import yaml

from azure_gpu.kubernetes import admission
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


SERVER = "https://cluster.example:443"


class Cluster:
    """What an API server answers, in place of the connection to it."""

    def __init__(self) -> None:
        self.reviews: list[dict[str, str]] = []
        self.allowed_from = 1
        self.reached = True
        self.pods: list[tuple[str, Any]] = []
        self.admission: tuple[int, object] = (201, {})

    def https_open(self, request: urllib.request.Request) -> addinfourl:
        if not self.reached:
            raise urllib.error.URLError(ConnectionRefusedError(111, "Connection refused"))
        assert request.full_url.startswith(f"{SERVER}/")
        if request.get_header("Authorization") != f"Bearer {TOKEN}":
            return self._answer(401, {"kind": "Status", "code": 401})
        if request.get_method() == "GET":
            return self._answer(200, {"gitVersion": "v1.36.2"})
        assert isinstance(request.data, bytes)
        if "/pods" in request.full_url:
            self.pods.append((request.full_url.removeprefix(SERVER), json.loads(request.data)["spec"]))
            return self._answer(*self.admission)
        self.reviews.append(json.loads(request.data)["spec"]["resourceAttributes"])
        return self._answer(201, {"status": {"allowed": len(self.reviews) >= self.allowed_from}})

    def _answer(self, status: int, body: object) -> addinfourl:
        answer = addinfourl(io.BytesIO(json.dumps(body).encode()), Message(), SERVER, status)
        # pyrefly: ignore[missing-attribute]
        answer.msg = ""
        return answer


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(urllib.request.HTTPSHandler, "https_open", lambda _, request: made.https_open(request))
    return made


def kubeconfig(user: dict[str, Any], **cluster: Any) -> str:
    return yaml.safe_dump(
        {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": SERVER, **cluster}}],
            "users": [{"name": "u", "user": user}],
        }
    )


@pytest.mark.usefixtures("cluster")
def test_a_cluster_that_answers_is_no_problem() -> None:
    assert answer_problem(kubeconfig({"token": TOKEN}), "", "edges.box.kubeconfig") is None


@pytest.mark.usefixtures("cluster")
def test_a_login_that_the_cluster_doesnt_know_is_told_without_it() -> None:
    problem = answer_problem(kubeconfig({"token": "of-yesterday"}), "", "edges.box.kubeconfig")
    assert problem is not None
    assert "rejects this login" in problem.message
    assert "of-yesterday" not in str(problem)


@pytest.mark.parametrize(
    ("user", "settings", "part"),
    [
        ({"token": TOKEN}, {}, f"{SERVER} doesn't answer: Connection refused"),
        ({"token": TOKEN}, {"certificate-authority-data": "no Base64"}, "isn't Base64"),
        ({"token": TOKEN}, {"certificate-authority-data": "QUFB"}, "can't be read"),
        ({"client-certificate-data": "QUFB", "client-key-data": "QUFB"}, {}, "a certificate in the kubeconfig can't be read"),
        ({"tokenFile": "/nowhere/token"}, {}, "/nowhere/token, which the kubeconfig names, can't be read"),
        ({"exec": {"command": "a-command-that-nobody-has"}}, {}, "a-command-that-nobody-has, which isn't on PATH"),
    ],
    ids=["nobody-there", "no-base64", "no-certificate", "no-client-certificate", "no-token-file", "no-command"],
)
def test_a_cluster_that_doesnt_answer_is_one_problem(cluster: Cluster, user: Any, settings: dict[str, Any], part: str) -> None:
    cluster.reached = False
    problem = answer_problem(kubeconfig(user, **settings), "", "edges.box.kubeconfig")
    assert problem is not None
    assert problem.path == "edges.box.kubeconfig"
    assert part in problem.message
    assert problem.value is None
    assert TOKEN not in str(problem)


def commands(monkeypatch: pytest.MonkeyPatch, exit_code: int, output: object) -> list[tuple[list[str], dict[str, str]]]:
    """The arguments and the environment of each command that a kubeconfig has run, in place of the command."""
    ran: list[tuple[list[str], dict[str, str]]] = []

    def run(command: list[str], *, env: dict[str, str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        ran.append((command, env))
        return subprocess.CompletedProcess(command, exit_code, json.dumps(output).encode(), b"a-password")

    monkeypatch.setattr(subprocess, "run", run)
    return ran


@pytest.mark.usefixtures("cluster")
def test_a_command_of_the_kubeconfig_is_asked_for_the_token_as_kubectl_asks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = commands(monkeypatch, 0, {"status": {"token": TOKEN}})
    plugin = {"command": sys.executable, "args": ["-c"], "env": [{"name": "REST", "value": "rest"}]}
    assert answer_problem(kubeconfig({"exec": plugin}), "", "p") is None
    [(command, environment)] = ran
    assert command == [sys.executable, "-c"]
    assert environment["REST"] == "rest"
    asked = json.loads(environment["KUBERNETES_EXEC_INFO"])
    assert (asked["kind"], asked["spec"]) == ("ExecCredential", {"interactive": False})


@pytest.mark.usefixtures("cluster")
def test_a_command_that_fails_is_named_and_what_it_wrote_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    commands(monkeypatch, 7, "")
    problem = answer_problem(kubeconfig({"exec": {"command": sys.executable}}), "", "p")
    assert problem is not None
    assert f"{sys.executable}, the kubeconfig's login command, failed with exit code 7" in problem.message
    assert "a-password" not in str(problem)


def test_a_right_is_asked_for_as_kubernetes_wants_it(cluster: Cluster) -> None:
    assert is_allowed(kubeconfig({"token": TOKEN}), CREATE_JOBS)
    assert cluster.reviews == [{"verb": "create", "resource": "jobs", "group": "batch"}]


def test_waiting_ends_when_the_role_is_there_and_tells_when_it_never_comes(cluster: Cluster) -> None:
    cluster.allowed_from = 3
    pauses: list[float] = []
    wait_until_allowed(kubeconfig({"token": TOKEN}), CREATE_JOBS, 60, now=lambda: 0, pause=pauses.append)
    asked = [review.pop("namespace") for review in cluster.reviews]
    assert len(set(asked)) == 3, "a refusal that the cluster remembers is asked about once"
    assert cluster.reviews == [{"verb": "create", "resource": "jobs", "group": "batch"}] * 3
    assert pauses == [2, 3]
    cluster.allowed_from = 100
    clock = iter(range(0, 100, 20))
    with pytest.raises(NotAllowedError, match="after 30 seconds, the cluster still refuses create jobs"):
        wait_until_allowed(kubeconfig({"token": TOKEN}), CREATE_JOBS, 30, now=lambda: next(clock), pause=pauses.append)


@pytest.mark.usefixtures("cluster")
def test_waiting_ends_soon_where_the_login_itself_fails() -> None:
    pauses: list[float] = []
    config = kubeconfig({"exec": {"command": "a-command-that-nobody-has"}})
    with pytest.raises(LoginFailedError, match="isn't on PATH"):
        wait_until_allowed(config, CREATE_JOBS, 300, now=lambda: 0, pause=pauses.append)
    assert len(pauses) == 2


@pytest.mark.parametrize(
    ("status", "message", "denied"),
    [
        (403, 'admission webhook "validation.gatekeeper.sh" denied the request: [azurepolicy-k8sazurev2noprivilege-1] not', True),
        (422, "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: not here", True),
        (403, 'pods "p" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes', True),
        (403, 'pods "p" is forbidden: exceeded quota: gpus', False),
        (201, "", False),
    ],
)
def test_a_pod_is_denied_where_the_cluster_says_so_of_the_pod(cluster: Cluster, status: int, message: str, denied: bool) -> None:
    cluster.admission = status, {"message": message}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}
    manifest = {"kind": "DaemonSet", "metadata": {"name": "p", "namespace": "n"}, "spec": {"template": template}}
    asked = list(admission.pods([{"kind": "Service"}, manifest]))
    found = admission.check(kubeconfig({"token": TOKEN}), asked)
    assert (f"p: {message}" in found, "add n to `excludedNamespaces`" in found) == (denied, denied)
    assert cluster.pods == [("/api/v1/namespaces/n/pods?dryRun=All&fieldManager=azure-gpu", template["spec"])]
    cluster.reached = False
    assert admission.check(kubeconfig({"token": TOKEN}), asked) == ""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.headers["Authorization"] == f"Bearer {TOKEN}" else 401)
        self.end_headers()
        self.wfile.write(json.dumps({"gitVersion": "v1.36.2"}).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    authority = trustme.CA()
    made = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    made.socket = tls.wrap_socket(made.socket, server_side=True)
    # pyrefly: ignore[missing-attribute]
    made.certificate = base64.b64encode(authority.cert_pem.bytes()).decode()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.mark.slow
def test_over_tls_the_authority_of_the_kubeconfig_is_trusted_and_no_other(server: Any, tmp_path: Path) -> None:
    login = tmp_path / "login"
    login.write_text(f'#!/bin/sh\necho "{{\\"status\\": {{\\"token\\": \\"{TOKEN}\\"}}}}"\n')
    login.chmod(login.stat().st_mode | stat.S_IXUSR)
    user = {"exec": {"command": str(login)}}
    address = f"https://127.0.0.1:{server.server_port}"
    trusted = kubeconfig(user, **{"server": address, "certificate-authority-data": server.certificate})
    assert answer_problem(trusted, "", "p") is None
    problem = answer_problem(kubeconfig(user, server=address), "", "p")
    assert problem is not None
    assert "doesn't answer" in problem.message
