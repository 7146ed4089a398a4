"""Credentials of requests: certificates, tokens, and programs that create either (`exec`, as kubelogin).

They give the headers of a request and the client certificate of a connection. A program is given a minute and no terminal; what
it made is kept until it expires. The Python client of Kubernetes isn't used for this: it takes two seconds to load, runs such
programs without a limit and takes no certificates from them.
"""

import base64
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from localazure.kubernetes_plugin.kubeconfig import Access, data_of

PATIENCE_S = 60.0
_MARGIN_S = 30.0  # a credential that ends so soon isn't sent any more
_SHOWN = 500  # of what a program says when it fails


class Credential(NamedTuple):
    """What signs requests. Its text says nothing: it may reach a traceback."""

    authorization: str = ""
    certificate: bytes = b""
    key: bytes = b""
    until: float = 0.0  # of time.time(); 0: it doesn't end

    def __repr__(self) -> str:
        return "Credential(…)"


class LoginError(Exception):
    """Nobody could be signed in."""


class Login:
    """The credential of one access. Threads share it. `run` and `clock` are `subprocess.run` and `time.time`."""

    def __init__(
        self,
        access: Access,
        environment: Mapping[str, str] | None = None,
        patience_s: float = PATIENCE_S,
        *,
        run: "Callable[..., subprocess.CompletedProcess[str]]" = subprocess.run,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._access = access
        self._environment = os.environ if environment is None else environment
        self._patience = patience_s
        self._run, self._clock = run, clock
        self._lock = threading.Lock()
        self._kept: Credential | None = None

    @property
    def renewable(self) -> bool:
        """Whether asking again may give another credential."""
        return bool(self._access.user.get("exec") or self._access.user.get("tokenFile"))

    def credential(self, *, refused: Credential | None = None) -> Credential:
        """The credential that holds now. `refused`: one that the server didn't take, so that it is made again."""
        with self._lock:
            kept = self._kept
            ended = kept is not None and kept.until and kept.until - _MARGIN_S < self._clock()
            if kept is None or ended or (refused is not None and kept == refused):
                kept = self._kept = self._made()
            return kept

    def _made(self) -> Credential:
        user, folder = self._access.user, self._access.folder
        if user.get("exec"):
            return self._from_program(user["exec"])
        if user.get("auth-provider"):
            raise LoginError(
                "auth-provider of the kubeconfig was removed from Kubernetes in 1.26; use an exec section (kubelogin)"
            )
        certificate, key = data_of(user, "client-certificate", folder), data_of(user, "client-key", folder)
        return Credential(self._authorization(user, folder), certificate, key)

    def _authorization(self, user: Mapping[str, Any], folder: Path) -> str:
        if user.get("tokenFile"):
            try:
                return "Bearer " + (folder / str(user["tokenFile"])).read_text(encoding="utf-8").strip()
            except OSError as error:
                raise LoginError(f"tokenFile of the kubeconfig can't be read: {error.strerror}") from None
        if user.get("token"):
            return f"Bearer {user['token']}"
        if user.get("username"):
            pair = f"{user['username']}:{user.get('password', '')}"
            return "Basic " + base64.b64encode(pair.encode()).decode()
        return ""

    def _from_program(self, program: Mapping[str, Any]) -> Credential:
        if program.get("interactiveMode") == "Always":
            raise LoginError("the kubeconfig's login program wants a terminal (interactiveMode: Always), and there is none")
        command = str(program.get("command") or "")
        version = str(program.get("apiVersion") or "")
        info: dict[str, Any] = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
        if program.get("provideClusterInfo"):
            info["spec"]["cluster"] = _cluster_info(self._access)
        own = {str(each["name"]): str(each["value"]) for each in program.get("env") or []}
        environment = {**self._environment, **own, "KUBERNETES_EXEC_INFO": json.dumps(info)}
        executable = str(self._access.folder / command) if "/" in command else command
        try:
            done = self._run(
                [executable, *(str(each) for each in program.get("args") or [])],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=self._patience,
                check=False,
            )
        except FileNotFoundError:
            hint = f"; {program['installHint']}" if program.get("installHint") else ""
            raise LoginError(f"getting credentials: exec: executable {command} not found{hint}") from None
        except subprocess.TimeoutExpired:
            raise LoginError(f"getting credentials: exec: {command} did not end within {self._patience:g} s") from None
        except OSError as error:
            raise LoginError(f"getting credentials: exec: {command}: {error.strerror}") from None
        if done.returncode != 0:
            said = done.stderr.strip()[-_SHOWN:]
            raise LoginError(f"getting credentials: exec: executable {command} failed with exit code {done.returncode}: {said}")
        return _credential(command, version, done.stdout)


def _credential(command: str, version: str, output: str) -> Credential:
    """What a program wrote. Nothing of it is shown where it is wrong: it may hold a token."""
    try:
        answer = json.loads(output)
        status = answer["status"]
        if answer.get("apiVersion") != version:
            raise LoginError(f"getting credentials: exec: {command} answered in {answer.get('apiVersion')}, not in {version}")
        token = status.get("token")
        until = status.get("expirationTimestamp")
        return Credential(
            f"Bearer {token}" if token else "",
            str(status.get("clientCertificateData") or "").encode(),
            str(status.get("clientKeyData") or "").encode(),
            datetime.fromisoformat(until).timestamp() if until else 0.0,
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LoginError(f"getting credentials: exec: {command} wrote no ExecCredential") from None


def _cluster_info(access: Access) -> dict[str, Any]:
    info: dict[str, Any] = {"server": access.server}
    if access.ca:
        info["certificate-authority-data"] = base64.b64encode(access.ca).decode()
    extensions = access.cluster.get("extensions") or []
    given = [each["extension"] for each in extensions if each.get("name") == "client.authentication.k8s.io/exec"]
    return {**info, "config": given[0]} if given else info
