"""Signing in: tokens, programs as kubelogin is one, and what is said when they fail. Nothing said holds a secret."""

import json
import stat
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from localazure.kubernetes_plugin.api import Api, ApiError, UnreachableError
from localazure.kubernetes_plugin.kubeconfig import Access, access, parsed
from localazure.kubernetes_plugin.login import Login, LoginError
from tests.localazure.kubernetes_plugin.conftest import kubeconfig

VERSION = "client.authentication.k8s.io/v1"


def program(folder: Path, script: str) -> str:
    path = folder / "login"
    path.write_text("#!/usr/bin/env python3\n" + textwrap.dedent(script))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def by_program(command: str, **more: Any) -> Access:
    return access(parsed(kubeconfig("https://127.0.0.1:1", exec={"apiVersion": VERSION, "command": command, **more})))


def credential(version: str = VERSION, **status: str) -> str:
    answer = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return f"print({json.dumps(answer)!r})"


def test_a_program_gets_its_environment_and_no_terminal_and_its_token_is_sent(tmp_path: Path) -> None:
    script = """
    import json, os, sys
    assert sys.stdin.read() == ""
    info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
    assert info["spec"] == {"interactive": False, "cluster": {"server": "https://127.0.0.1:1"}}
    token = os.environ["WHO"] + "-" + sys.argv[1]
    print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": {"token": token}}))
    """
    env = [{"name": "WHO", "value": "me"}]
    found = by_program(program(tmp_path, script), args=["--here"], env=env, provideClusterInfo=True)
    assert Login(found).credential().authorization == "Bearer me---here"


def test_a_token_is_kept_until_it_ends_and_made_anew_when_it_was_refused(tmp_path: Path) -> None:
    counted = f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\n"
    login = Login(by_program(program(tmp_path, counted + credential(token="t", expirationTimestamp="2999-01-01T00:00:00Z"))))
    first = login.credential()
    assert login.credential() is first
    login.credential(refused=first)
    assert (tmp_path / "runs").read_text() == "xx"
    program(tmp_path, counted + credential(token="t", expirationTimestamp="2001-01-01T00:00:00Z"))
    ended = Login(by_program(str(tmp_path / "login")))
    ended.credential()
    ended.credential()
    assert (tmp_path / "runs").read_text() == "xxxx"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("import sys; sys.exit('AADSTS700016: no such application')", "failed with exit code 1: AADSTS700016"),
        ("print('hush-token')", "wrote no ExecCredential"),
        (
            credential("client.authentication.k8s.io/v1alpha1", token="hush-token"),
            "answered in client.authentication.k8s.io/v1alpha1",
        ),
        (f'print(\'{{"apiVersion": "{VERSION}", "status": 7}}\')', "wrote no ExecCredential"),
        ("import time; time.sleep(60)", "did not end within 0.5 s"),
    ],
    ids=["it fails", "no JSON", "another version", "no status", "it hangs"],
)
def test_a_program_that_gives_no_credential_is_named_with_its_reason(tmp_path: Path, script: str, words: str) -> None:
    with pytest.raises(LoginError) as failed:
        Login(by_program(program(tmp_path, script)), patience_s=0.5 if "sleep" in script else 30).credential()
    assert words in str(failed.value)
    assert "hush" not in str(failed.value)


def test_a_program_that_is_not_there_is_named_with_its_hint() -> None:
    login = Login(by_program("no-such-login", installHint="install it from there"))
    with pytest.raises(LoginError, match="exec: executable no-such-login not found; install it from there"):
        login.credential()


def test_a_program_that_wants_a_terminal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LoginError, match="wants a terminal"):
        Login(by_program(program(tmp_path, ""), interactiveMode="Always")).credential()


def test_tokens_files_and_passwords_are_sent_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")

    def sent(**user: str) -> str:
        return Login(access(parsed(kubeconfig("https://x", **user)))).credential().authorization

    assert sent(token="plain") == "Bearer plain"
    assert sent(tokenFile=str(tmp_path / "token")) == "Bearer from-file"
    assert sent(username="a", password="b") == "Basic YTpi"
    assert "hush" not in repr(Login(access(parsed(kubeconfig("https://x", token="hush")))).credential())


class Recorder(BaseHTTPRequestHandler):
    """Answers 401 to the first token, and with what the test wants to the others."""

    seen: list[str]
    answers: list[tuple[int, dict[str, str], Any]]

    def do_GET(self) -> None:
        self.seen.append(self.headers.get("Authorization", ""))
        status, headers, body = self.answers.pop(0) if self.answers else (200, {}, {"kind": "ok"})
        content = json.dumps(body).encode()
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, type[Recorder]]]:
    handler = type("Handler", (Recorder,), {"seen": [], "answers": []})
    running = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}", handler
    running.shutdown()
    running.server_close()


def test_a_token_that_the_server_refuses_is_made_anew_once(tmp_path: Path, server: tuple[str, type[Recorder]]) -> None:
    url, handler = server
    handler.answers += [(401, {}, {"kind": "Status", "message": "Unauthorized"})]
    script = f"""
    import json
    with open({str(tmp_path / "runs")!r}, "a+") as runs:
        n = runs.tell()
        runs.write("x")
    print(json.dumps({{"apiVersion": "{VERSION}", "kind": "ExecCredential", "status": {{"token": str(n)}}}}))
    """
    found = access(parsed(kubeconfig(url, exec={"apiVersion": VERSION, "command": program(tmp_path, script)})))
    assert Api(found).get("/api") == {"kind": "ok"}
    assert handler.seen == ["Bearer 0", "Bearer 1"]
    handler.answers += [(401, {}, {"kind": "Status", "message": "Unauthorized"})] * 2
    with pytest.raises(ApiError, match="Unauthorized"):
        Api(found).get("/api")


def test_a_busy_server_is_asked_again_when_it_says_so(server: tuple[str, type[Recorder]]) -> None:
    url, handler = server
    handler.answers += [(429, {"Retry-After": "0"}, {}), (503, {"Retry-After": "0"}, {})]
    assert Api(access(parsed(kubeconfig(url)))).get("/api") == {"kind": "ok"}
    assert len(handler.seen) == 3


def test_a_refusal_without_words_is_one_all_the_same(server: tuple[str, type[Recorder]]) -> None:
    url, handler = server
    handler.answers += [(502, {}, ["<html>"])]
    with pytest.raises(ApiError, match="answered with status 502 and no explanation"):
        Api(access(parsed(kubeconfig(url)))).get("/api")


def test_a_server_that_is_not_there_is_said_to_refuse() -> None:
    with pytest.raises(UnreachableError, match=r'Get "https://127\.0\.0\.1:1/version": connect: connection refused'):
        Api(access(parsed(kubeconfig("https://127.0.0.1:1")))).look()
