"""Signing in: tokens, programs as kubelogin is one, and what is said when they fail. Nothing said holds a secret."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
import urllib3

from localazure.kubernetes_plugin.api import Api, ApiError, UnreachableError
from localazure.kubernetes_plugin.kubeconfig import Access, access, parsed
from localazure.kubernetes_plugin.login import Login, LoginError
from tests.localazure.kubernetes_plugin.conftest import kubeconfig
from tests.support.fake_kubernetes import Answer

VERSION = "client.authentication.k8s.io/v1"


def by_program(command: str, **more: Any) -> Access:
    return access(parsed(kubeconfig("https://127.0.0.1:1", exec={"apiVersion": VERSION, "command": command, **more})))


def credential(version: str = VERSION, **status: str) -> str:
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


class Programs:
    """Takes the place of `subprocess.run`: each run writes what the test says."""

    def __init__(self, *outputs: str | Exception, code: int = 0, errors: str = "") -> None:
        self.outputs, self.code, self.errors = list(outputs), code, errors
        self.runs: list[tuple[list[str], Mapping[str, Any]]] = []

    def __call__(self, command: list[str], **options: Any) -> "subprocess.CompletedProcess[str]":
        self.runs.append((command, options))
        output = self.outputs.pop(0) if len(self.outputs) > 1 else self.outputs[0]
        if isinstance(output, Exception):
            raise output
        return subprocess.CompletedProcess(command, self.code, output, self.errors)


def test_a_program_gets_its_environment_and_no_terminal_and_its_token_is_sent() -> None:
    run = Programs(credential(token="t"))
    env = [{"name": "WHO", "value": "me"}]
    found = by_program("kubelogin", args=["--here"], env=env, provideClusterInfo=True)
    assert Login(found, {"PATH": "/bin"}, run=run).credential().authorization == "Bearer t"
    ((command, options),) = run.runs
    assert command == ["kubelogin", "--here"]
    assert (options["stdin"], options["timeout"]) == (subprocess.DEVNULL, 60)
    told = options["env"].pop("KUBERNETES_EXEC_INFO")
    assert options["env"] == {"PATH": "/bin", "WHO": "me"}
    assert json.loads(told)["spec"] == {"interactive": False, "cluster": {"server": "https://127.0.0.1:1"}}


def test_a_token_is_kept_until_it_ends_and_made_anew_when_it_was_refused() -> None:
    run, now = Programs(credential(token="t", expirationTimestamp="2030-01-01T00:00:00Z")), [1893455940.0]  # a minute before
    login = Login(by_program("kubelogin"), run=run, clock=lambda: now[0])
    first = login.credential()
    assert login.credential() is first
    login.credential(refused=first)
    assert len(run.runs) == 2
    now[0] += 31  # one that ends so soon isn't sent
    login.credential()
    login.credential()
    assert len(run.runs) == 4


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (Programs("", code=1, errors="AADSTS700016: no such application"), "failed with exit code 1: AADSTS700016: no such app"),
        (Programs("hush-token"), "wrote no ExecCredential"),
        (Programs(credential("v1alpha1", token="hush-token")), f"answered in v1alpha1, not in {VERSION}"),
        (Programs(json.dumps({"apiVersion": VERSION, "status": 7})), "wrote no ExecCredential"),
        (Programs(subprocess.TimeoutExpired("kubelogin", 60)), "did not end within 60 s"),
        (Programs(FileNotFoundError()), "exec: executable kubelogin not found; install it from there"),
        (Programs(PermissionError(13, "Permission denied")), "exec: kubelogin: Permission denied"),
    ],
    ids=["it fails", "no JSON", "another version", "no status", "it hangs", "missing", "forbidden"],
)
def test_a_program_that_gives_no_credential_is_named_with_its_reason(run: Programs, said: str) -> None:
    with pytest.raises(LoginError) as failed:
        Login(by_program("kubelogin", installHint="install it from there"), run=run).credential()
    assert said in str(failed.value)
    assert "hush" not in str(failed.value)


def test_a_program_that_requires_a_terminal_is_refused() -> None:
    with pytest.raises(LoginError, match="wants a terminal"):
        Login(by_program("kubelogin", interactiveMode="Always"), run=Programs(AssertionError())).credential()


@pytest.mark.slow
def test_a_real_program_is_run_and_ended_after_its_time(tmp_path: Path) -> None:
    program = tmp_path / "login"
    program.write_text(f"#!/bin/sh\ncat\necho '{credential(token='t')}'\nexec sleep $1\n")
    program.chmod(0o700)
    assert Login(by_program(str(program), args=["0"])).credential().authorization == "Bearer t"
    with pytest.raises(LoginError, match=r"did not end within 0\.5 s"):
        Login(by_program(str(program), args=["60"]), patience_s=0.5).credential()


def test_tokens_files_and_passwords_are_sent_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")

    def sent(**user: str) -> str:
        return Login(access(parsed(kubeconfig("https://x", **user)))).credential().authorization

    assert sent(token="plain") == "Bearer plain"
    assert sent(tokenFile=str(tmp_path / "token")) == "Bearer from-file"
    assert sent(username="a", password="b") == "Basic YTpi"
    assert "hush" not in repr(Login(access(parsed(kubeconfig("https://x", token="hush")))).credential())


class Server:
    """A pool of connections that gives the test's answers, the last of them again and again."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.tokens: list[str] = []
        self.slept: list[float] = []

    def request(self, *_: Any, headers: Mapping[str, str], **__: Any) -> Answer:
        self.tokens.append(headers.get("Authorization", ""))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def asked(self, login: Login | None = None) -> Any:
        pool = cast(urllib3.PoolManager, self)
        return Api(access(parsed(kubeconfig())), login, opened=lambda *_: pool, sleep=self.slept.append).get("/api")


FINE = Answer(200, b'{"kind": "ok"}')
UNAUTHORIZED = Answer(401, b'{"kind": "Status", "message": "Unauthorized"}')


def test_a_token_that_the_server_refuses_is_made_anew_once() -> None:
    login = Login(by_program("kubelogin"), run=Programs(*(credential(token=each) for each in "abc")))
    server = Server(UNAUTHORIZED, FINE)
    assert server.asked(login) == {"kind": "ok"}
    assert server.tokens == ["Bearer a", "Bearer b"]
    refusing = Server(UNAUTHORIZED)
    with pytest.raises(ApiError, match="Unauthorized"):
        refusing.asked(login)
    assert refusing.tokens == ["Bearer b", "Bearer c"]


def test_a_busy_server_is_asked_again_when_it_says_so() -> None:
    server = Server(Answer(429, b"", {"Retry-After": "2"}), Answer(503, b"", {"Retry-After": "60"}), FINE)
    assert server.asked() == {"kind": "ok"}
    assert server.slept == [2, 5]
    with pytest.raises(ApiError, match="status 503"):
        Server(Answer(503, b"")).asked()


def test_a_refusal_without_words_is_one_all_the_same() -> None:
    with pytest.raises(ApiError, match="answered with status 502 and no explanation"):
        Server(Answer(502, b'["<html>"]')).asked()


@pytest.mark.slow
def test_a_server_that_is_not_there_is_said_to_refuse() -> None:
    with pytest.raises(UnreachableError, match=r'Get "https://127\.0\.0\.1:1/version": connect: connection refused'):
        Api(access(parsed(kubeconfig("https://127.0.0.1:1")))).look()
