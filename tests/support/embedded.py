"""An embedded Azure for a test: the requests that tests send to one, and one in a process of its own with port and state folder.

`tests.support.in_process` has one without a process.
"""

import json
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from localazure.fault import PATH
from localazure.plugin.installation import TOOLS
from tests.support.patience import SECONDS

CHECKOUT = Path(__file__).parents[2]
SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
SECOND_SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"
_OFTEN_SECONDS, _RARE_SECONDS = 0.02, 0.25  # between two looks at what is waited for


def until(true: Callable[[], Any], what: str) -> Any:
    """Polls until `true()` is truthy and returns that. AssertionError, naming `what`, at the deadline.

    The longer it has waited, the rarer it looks: a look often starts a process, and takes the CPU from what it waits for.
    """
    began = time.monotonic()
    while (waited := time.monotonic() - began) < SECONDS:
        found = true()
        if found:
            return found
        time.sleep(min(max(waited / 10, _OFTEN_SECONDS), _RARE_SECONDS))
    raise AssertionError(f"not within {SECONDS} s: {what}")


@cache
def kubernetes_programs() -> Path | None:
    """The folder of Kubernetes' programs; None where this machine has no build of them."""
    asked = [sys.executable, "engine/build.py", "kubernetes", "--check"]
    done = subprocess.run(asked, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return Path(done.stdout.strip()) if done.returncode == 0 else None


def _kubernetes() -> list[str]:
    found = kubernetes_programs()
    return ["--kubernetes-bin", str(found)] if found else []


class Renewed(httpx.Auth):
    """A token for requests that carry none. Long before an hour is over, when it ends, another one is asked for: all tests
    together may take longer than that."""

    LASTS = timedelta(minutes=20)

    def __init__(self, ask: Callable[[], str], now: Callable[[], datetime]) -> None:
        self._ask, self._now = ask, now
        self._token, self._until = ask(), now() + self.LASTS

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if "Authorization" not in request.headers:
            if self._now() > self._until:
                self._token, self._until = self._ask(), self._now() + self.LASTS
            request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


class EmbeddedAzure:
    """An embedded Azure and the requests that tests send to it. `client` speaks to it with a token."""

    state: Path
    checkout: Path
    url: str
    tenant_id: str
    client_id: str
    client_secret: str
    principal_id: str
    admin_token: str
    client: httpx.Client

    def identified(self, identity: Mapping[str, str]) -> None:
        """Reads who signs in, and does."""
        self.tenant_id, self.principal_id = identity["tenant_id"], identity["principal_id"]
        self.client_id, self.client_secret = identity["client_id"], identity["client_secret"]
        self.admin_token = identity["admin_token"]
        self.client = self.http(auth=Renewed(self.token, self.now))

    def http(self, **options: Any) -> httpx.Client:
        """A client that carries no token."""
        raise NotImplementedError

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """`python -m localazure` with this one's state folder."""
        raise NotImplementedError

    def restart(self) -> None:
        """Ends and starts again with the same state."""
        raise NotImplementedError

    def sdk_options(self) -> dict[str, Any]:
        """With what a client of Azure's SDKs is made, so that it reaches this one."""
        raise NotImplementedError

    def move(self, seconds: float) -> None:
        """Lets so much of the server's time pass."""
        raise NotImplementedError

    def now(self) -> datetime:
        """The server's time."""
        raise NotImplementedError

    def until(self, true: Callable[[], Any], what: str) -> Any:
        """Waits until `true()` is truthy and returns that. AssertionError, naming `what`, where it never is."""
        raise NotImplementedError

    def fault(self, kind: str, **fields: Any) -> None:
        """Injects a fault, as `python -m localazure fault` does."""
        answer = self.client.put(PATH, json={"kind": kind, **fields}, headers={"Authorization": f"Bearer {self.admin_token}"})
        assert answer.status_code == 200, answer.text

    def clear_faults(self) -> None:
        self.client.delete(PATH, headers={"Authorization": f"Bearer {self.admin_token}"})

    def faults_hold(self) -> bool:
        """Whether a fault is left that no request has run into; asked without a process, since who waits asks often."""
        answer = self.client.get(PATH, headers={"Authorization": f"Bearer {self.admin_token}"})
        return bool(answer.json()["value"])

    def token(self, scope: str | None = None) -> str:
        with self.http() as client:
            answer = self.ask_token(client, scope=scope or f"{self.url}/.default")
        assert answer.status_code == 200, answer.text
        return answer.json()["access_token"]

    def ask_token(self, client: httpx.Client, **changed: str) -> httpx.Response:
        form = {"grant_type": "client_credentials", "client_id": self.client_id, "client_secret": self.client_secret}
        return client.post(f"/{self.tenant_id}/oauth2/v2.0/token", data={**form, **changed})

    def put(self, path: str, body: Any, version: str) -> httpx.Response:
        return self.client.put(path, params={"api-version": version}, json=body)

    def get(self, path: str, version: str, **query: str) -> httpx.Response:
        return self.client.get(path, params={"api-version": version, **query})

    def patch(self, path: str, body: Any, version: str) -> httpx.Response:
        return self.client.patch(path, params={"api-version": version}, json=body)

    def delete(self, path: str, version: str) -> httpx.Response:
        return self.client.delete(path, params={"api-version": version})

    def post(self, path: str, version: str, body: Any = None) -> httpx.Response:
        return self.client.post(path, params={"api-version": version}, json=body)

    def made(self, path: str, body: Any, version: str) -> dict[str, Any]:
        """The resource that a PUT has made or changed, once the service is done with it."""
        answer = self.put(path, body, version)
        assert answer.is_success, answer.text
        if "azure-asyncoperation" in answer.headers or ("location" in answer.headers and answer.status_code == 202):
            ended = self.finished(answer)
            assert ended["status"] == "Succeeded", ended
        return self.get(path, version).json()

    def finished(self, answer: httpx.Response) -> dict[str, Any]:
        """The status document of the long operation that `answer` began, once it has ended."""
        address = answer.headers.get("azure-asyncoperation") or answer.headers["location"]
        address = address.replace("perationResults", "perationStatuses")
        return self.until(
            lambda: (found := self.client.get(address).json())["status"] != "InProgress" and found, f"{address} ends"
        )


class ServedAzure(EmbeddedAzure):
    """One server in a process of its own, reached over TLS like any other. `url` and `ca_bundle` are for other clients."""

    def __init__(
        self, state: Path, *, as_of: str = "", weather: str = "calm", checkout: Path = CHECKOUT, nothing_runs: bool = False
    ) -> None:
        self.state = state
        self.checkout = checkout
        self._options = ["--weather", weather, *(["--as-of", as_of] if as_of else [])]
        self._options += ["--nothing-runs"] if nothing_runs else []
        self.start()

    # The process

    def start(self) -> None:
        done = self.command("start", *self._options, *_kubernetes())
        assert done.returncode == 0, done.stderr
        self._read()

    def stop(self) -> None:
        self.client.close()
        done = self.command("stop")
        assert done.returncode == 0, done.stderr

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill9(self) -> None:
        """Kills the process and waits until it is gone. `start` starts the next."""
        os.kill(self.pid, 9)
        self.client.close()
        until(lambda: self.command("status").returncode == 3, "the killed server is gone")

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """`python -m localazure` with this state folder."""
        return subprocess.run(
            [sys.executable, "-m", "localazure", "--state", str(self.state), "--checkout", str(self.checkout), *arguments],
            cwd=CHECKOUT,
            env={**os.environ, TOOLS: "build"},  # the stand-ins, also where the machine has Pulumi's own plugins
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def _read(self) -> None:
        endpoint = json.loads((self.state / "endpoint.json").read_text())
        identity = json.loads((self.state / "identity.json").read_text())
        self.url: str = endpoint["url"]
        self.port: int = endpoint["port"]
        self.pid: int = endpoint["pid"]
        self.ca_bundle = self.state / "ca-bundle.pem"
        self.identified(identity)

    def http(self, **options: Any) -> httpx.Client:
        """A client that trusts this server's certificate and carries no token."""
        trust = ssl.create_default_context(cafile=self.state / "ca" / "ca.pem")
        return httpx.Client(base_url=self.url, verify=trust, trust_env=False, timeout=SECONDS, **options)

    def until(self, true: Callable[[], Any], what: str) -> Any:
        return until(true, what)

    def sdk_options(self) -> dict[str, Any]:
        return {"connection_verify": str(self.ca_bundle)}

    def move(self, seconds: float) -> None:
        time.sleep(seconds)

    def now(self) -> datetime:
        return datetime.now(UTC)
