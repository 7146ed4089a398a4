"""Images, asked of the embedded Azure, which knows what its registries built and who may pull it.

`PullError` has the message that a container waits with.
"""

import base64
import json
import ssl
from pathlib import Path
from typing import Any, NamedTuple

import httpcore

Body = dict[str, Any]
PATH = "/kubernetes/images"
_TIMEOUTS = {"connect": 5.0, "read": 1800.0, "write": 30.0, "pool": 30.0}  # a public image may have to be built first


class PullError(Exception):
    """As a container runtime says it."""


class Credential(NamedTuple):
    """Of a pull secret."""

    server: str
    username: str
    password: str


class Registry:
    """Where images come from."""

    def __init__(self, url: str, authority: Path, token: str) -> None:
        trust = ssl.create_default_context(cafile=str(authority)) if url.startswith("https:") else None
        self._url = url
        self._headers = [(b"Authorization", f"Bearer {token}".encode()), (b"Content-Type", b"application/json")]
        self._pool = httpcore.AsyncConnectionPool(ssl_context=trust, max_connections=32, keepalive_expiry=30.0)

    async def pull(self, reference: str, credentials: list[Credential]) -> Body:
        """The image's record: digest, root, environment, entrypoint, cmd, env, workdir, and the whole `name` of the image."""
        if not self._url:
            raise PullError(f'failed to pull and unpack image "{reference}": there is no embedded Azure that has images')
        content = json.dumps({"image": reference, "credentials": [one._asdict() for one in credentials]}).encode()
        try:
            response = await self._pool.request(
                "POST", self._url + PATH, headers=self._headers, content=content, extensions={"timeout": _TIMEOUTS}
            )
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError) as error:
            raise PullError(f'failed to pull and unpack image "{reference}": the embedded Azure does not answer') from error
        try:
            answer = json.loads(response.content)
        except ValueError:  # such as a server's error of its own
            answer = {}
        if response.status != 200 or not answer:
            raise PullError(str(answer.get("message") or f"the embedded Azure answers {response.status}"))
        return answer

    async def close(self) -> None:
        await self._pool.aclose()


def credentials_of(secret: dict[str, bytes]) -> list[Credential]:
    """What a pull secret holds; nothing where it is none."""
    try:
        if ".dockerconfigjson" in secret:
            servers = json.loads(secret[".dockerconfigjson"])["auths"]
        else:
            servers = json.loads(secret[".dockercfg"])
        return [_credential(server, one) for server, one in servers.items()]
    except (KeyError, ValueError, AttributeError):
        return []


def _credential(server: str, given: Body) -> Credential:
    host = server.removeprefix("https://").removeprefix("http://").split("/")[0].lower()
    if given.get("auth") and not given.get("username"):
        username, _, password = base64.b64decode(given["auth"]).decode().partition(":")
        return Credential(host, username, password)
    return Credential(host, str(given.get("username") or ""), str(given.get("password") or ""))
