"""Requests to a Kubernetes API server: whether it accepts a kubeconfig, and whether that login has a permission.

This is the only module of the package that uses the network. It finds stale kubeconfigs early, and waits for role assignments,
which take effect only after some time. Of a kubeconfig's content only the server's address appears in messages.
"""

import base64
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import kubeconfig as kubeconfigs
from azure_gpu.formats.kubeconfig import ExecPlugin, Kubeconfig, KubeconfigError

TIMEOUT_SECONDS = 10.0
EXEC_TIMEOUT_SECONDS = 30.0
PAUSE_SECONDS = (2.0, 15.0)  # between two requests: initial and maximum
LOGINS = 3  # that may fail in a row while waiting for a role
_NAMESPACE = "azure-gpu-asks"
_EXEC_INFO = "KUBERNETES_EXEC_INFO"


class Response(NamedTuple):
    """A response of the API server."""

    status: int
    body: Any  # parsed JSON; None if it isn't JSON


class NotReachedError(Exception):
    """The cluster doesn't answer. The message says why."""


class LoginFailedError(NotReachedError):
    """The kubeconfig itself isn't usable, or its command returns no token: retrying rarely helps."""


class NotAllowedError(NotReachedError):
    """The cluster denies the request."""


class Permission(NamedTuple):
    """A permission that a login may have."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""  # empty: all


class Connection:
    """A connection to a cluster with one login."""

    def __init__(self, kubeconfig: str, context: str = "") -> None:
        try:
            self.config = kubeconfigs.read(kubeconfig, context)
        except KubeconfigError as error:
            raise LoginFailedError(str(error)) from None
        self._login = _login(self.config)
        self._tls = _tls(self.config, self._login)

    def request(self, method: str, path: str, body: object = None) -> Response:
        """Sends one request. Raises NotReachedError without a response."""
        headers = {"Accept": "application/json", **({"Content-Type": "application/json"} if body is not None else {})}
        if self._login.token:
            headers["Authorization"] = f"Bearer {self._login.token}"
        request = urllib.request.Request(  # noqa: S310  the scheme is https, which `kubeconfigs.read` has seen to
            f"{self.config.server.rstrip('/')}{path}",
            data=json.dumps(body).encode() if body is not None else None,
            headers=headers,
            method=method,
        )
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=self._tls))
        try:
            with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                return Response(response.status, _json(response.read()))
        except urllib.error.HTTPError as error:
            return Response(error.code, _json(error.read()))
        except OSError as error:  # refused, unknown host, an untrusted certificate, a timeout
            raise NotReachedError(f"{self.config.server} doesn't answer: {_reason(error)}") from None


def answer_problem(kubeconfig: str, context: str, path: str) -> Problem | None:
    """The problem of a kubeconfig that its cluster doesn't accept; None otherwise. `path` is the kubeconfig's path."""
    try:
        response = Connection(kubeconfig, context).request("GET", "/version")
    except NotReachedError as error:
        return refused("kubernetes.no_answer", path, why=error)
    if response.status == 401:
        return refused("kubernetes.login_rejected", path)
    return refused("kubernetes.unhealthy", path, status=response.status) if response.status >= 400 else None


def is_allowed(kubeconfig: str, permission: Permission) -> bool:
    """Whether the login has a permission. False while the cluster doesn't know it yet. Raises NotReachedError without a
    response."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {key: value for key, value in permission._asdict().items() if value}},
    }
    response = Connection(kubeconfig).request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    return response.status in (200, 201) and bool(_mapping(_mapping(response.body).get("status")).get("allowed"))


def wait_until_allowed(
    kubeconfig: str,
    permission: Permission,
    seconds: float,
    *,
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Waits until the login has a permission. Each request names another namespace: clusters cache denials for minutes.

    Raises NotAllowedError if it is still denied after `seconds`; NotReachedError without a response, or if no login succeeds.
    """
    end = now() + seconds
    last, failures = NotReachedError(""), 0
    for question in count():
        try:
            if is_allowed(kubeconfig, permission._replace(namespace=f"{_NAMESPACE}-{question}")):
                return
            last = NotAllowedError(f"the cluster still refuses {permission.verb} {permission.resource}")
        except LoginFailedError as error:
            failures, last = failures + 1, error
            if failures == LOGINS:
                raise
        except NotReachedError as error:
            last = error
        if now() >= end:
            raise type(last)(f"after {seconds:g} seconds, {last}")
        pause(min(PAUSE_SECONDS[0] + question, PAUSE_SECONDS[1]))


class _Login(NamedTuple):
    token: str = ""
    certificate: str = ""
    key: str = ""


def _login(config: Kubeconfig) -> _Login:
    if config.exec is not None:
        return _of_command(config.exec)
    token = config.token
    if config.token_file:
        token = _file(config.token_file).strip()
    return _Login(token, _text(config.certificate, config.certificate_file), _text(config.key, config.key_file))


def _of_command(plugin: ExecPlugin) -> _Login:
    """Runs the command that the kubeconfig names, as kubectl does."""
    command = shutil.which(plugin.command)
    if command is None:
        raise LoginFailedError(f"the kubeconfig logs in with {plugin.command}, which isn't on PATH")
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
    try:
        done = subprocess.run(
            [command, *plugin.args],
            env={**os.environ, **plugin.environment, _EXEC_INFO: json.dumps(info)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=EXEC_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LoginFailedError(
            f"{plugin.command}, the kubeconfig's login command, timed out; it may be waiting for input"
        ) from None
    except OSError as error:
        raise LoginFailedError(f"{plugin.command}, the kubeconfig's login command, failed to start: {_reason(error)}") from None
    credential = _json(done.stdout)
    if done.returncode != 0 or not _mapping(credential):
        # Its output isn't shown: it may contain credentials.
        raise LoginFailedError(f"{plugin.command}, the kubeconfig's login command, failed with exit code {done.returncode}")
    status = _mapping(_mapping(credential).get("status"))
    return _Login(
        str(status.get("token") or ""),
        str(status.get("clientCertificateData") or ""),
        str(status.get("clientKeyData") or ""),
    )


def _tls(config: Kubeconfig, login: _Login) -> ssl.SSLContext:
    try:
        authority = _text(config.authority, config.authority_file)
        tls = ssl.create_default_context(cadata=authority or None)
        if config.insecure:
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        if login.certificate:
            with tempfile.TemporaryDirectory() as folder:  # the library reads certificates only from files; mode 0600
                pair = Path(folder) / "pair.pem"
                pair.touch(mode=0o600)
                pair.write_text(f"{login.certificate}\n{login.key}\n", encoding="utf-8")
                tls.load_cert_chain(pair)
    except (ssl.SSLError, ValueError):
        raise LoginFailedError("a certificate in the kubeconfig can't be read") from None
    return tls


def _text(data: str, file: str) -> str:
    """A certificate or key that the kubeconfig holds in Base64, or names as a file."""
    if file:
        return _file(file)
    try:
        return base64.b64decode(data, validate=True).decode()
    except ValueError:
        raise LoginFailedError("a certificate in the kubeconfig isn't Base64") from None


def _file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise LoginFailedError(f"{path}, which the kubeconfig names, can't be read: {_reason(error)}") from None


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _reason(error: Exception) -> str:
    inner = getattr(error, "reason", None) or error
    return str(getattr(inner, "strerror", None) or inner or type(inner).__name__)
