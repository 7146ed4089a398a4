"""The API of a cluster where nothing runs: its version, and whether a caller may do something.

A program asks that before it puts anything onto a cluster, and waits for its role to work. Everything else is refused in
Kubernetes' form. No token is looked at, since there is nothing to be had. The server is the embedded Azure itself; `kubelogin` is
a file of its state folder that hands out a token which nobody checks, as programs run it, also where it isn't installed.
"""

import base64
import json
import shlex
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from localazure.arm.errors import ArmError, nothing_runs
from localazure.arm.requests import content_of
from localazure.folder import LocalFolder, write_whole
from localazure.kubernetes import kubeconfigs
from localazure.kubernetes.agent.settings import VERSION

_PATH = "/kubernetes/still/"
_ANY = "any"  # a cluster that isn't one of this Azure, such as a device
_REVIEWS = "apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_PROGRAM_MODE = 0o700
_LOGIN = {
    "apiVersion": "client.authentication.k8s.io/v1beta1",
    "kind": "ExecCredential",
    "status": {"token": "nothing-runs"},
}


def server(url: str, cluster: str = _ANY) -> str:
    """The address of a cluster's API. `url`: the embedded Azure's."""
    return f"{url}{_PATH}{cluster}"


def routes() -> list[Route]:
    return [Route(_PATH + "{cluster}/{path:path}", _answered, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])]


def install(folder: LocalFolder, url: str) -> None:
    """Writes what a shell needs: `kubelogin`, and a kubeconfig for whoever isn't given one."""
    folder.still_programs.mkdir(mode=0o700, exist_ok=True)
    program = f"#!/bin/sh\nexec printf '%s\\n' {shlex.quote(json.dumps(_LOGIN))}\n"
    write_whole(folder.still_programs / "kubelogin", program, _PROGRAM_MODE)
    write_whole(folder.still_kubeconfig, kubeconfig(url, folder.authority_certificate), 0o600)


def kubeconfig(url: str, authority: Path) -> str:
    """A kubeconfig's text, in JSON, which is YAML."""
    data = base64.b64encode(authority.read_bytes()).decode("ascii")
    cluster = {"server": server(url), "certificate-authority-data": data}
    return json.dumps(kubeconfigs.config("nothing-runs", cluster, {"token": _LOGIN["status"]["token"]}), indent=2) + "\n"


async def _answered(request: Request) -> Response:
    match request.method, request.path_params["path"]:
        case "GET", "version":
            major, minor, _ = VERSION.removeprefix("v").split(".")
            return JSONResponse({"major": major, "minor": minor, "gitVersion": VERSION, "platform": "linux/amd64"})
        case "POST", path if path == _REVIEWS:
            return await _reviewed(request)
        case _:
            refusal = nothing_runs("API server of a cluster")
            return _status(refusal.status, refusal.code, refusal.message)


async def _reviewed(request: Request) -> Response:
    """Everybody may do everything, for all that comes of it."""
    try:
        requested = json.loads(await content_of(request))
        return JSONResponse({**requested, "status": {"allowed": True}}, 201)
    except (ArmError, ValueError, TypeError):
        return _status(400, "BadRequest", "The body isn't a SelfSubjectAccessReview.")


def _status(code: int, reason: str, message: str) -> Response:
    whole = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code}
    return JSONResponse(whole, code)
