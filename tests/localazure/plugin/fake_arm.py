"""A strict ARM to hold the plugin against: metadata, sign-in and whole bodies, and every body judged by Microsoft's own types.

What it doesn't know, it refuses, and the test finds it in `unexpected`. It keeps no rules of services: those are the embedded
Azure's, and tested there.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import jwt
import trustme
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from azure_gpu.formats import arm_ids, azure_types
from localazure.shapes import api_versions, default_api_version
from tests.oracle import arm_types

TENANT = "11111111-1111-1111-1111-111111111111"
CLIENT = "22222222-2222-2222-2222-222222222222"
PRINCIPAL = "33333333-3333-3333-3333-333333333333"
SECRET = "the-client-secret"
PATIENCE_S = 20.0
BY_ARM_TYPE = {each.arm_type.lower(): each for each in azure_types.ALL}


@dataclass
class FakeArm:
    """The server's state and what it was asked; faults are set by name and used up once each."""

    url: str = ""
    bundle: str = ""
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)  # the names that `answer` and `operation` look for
    tokens: int = 0

    @property
    def host(self) -> str:
        return self.url.removeprefix("https://")

    def sent(self, method: str) -> list[Any]:
        return [body for sent, path, body in self.requests if sent == method]

    def use(self, fault: str) -> bool:
        if fault in self.faults:
            self.faults.remove(fault)
            return True
        return False


class _Abortable(HttpToolsProtocol):
    """uvicorn's protocol, with the connection in the application's reach so that it can be cut."""

    def on_headers_complete(self) -> None:
        self.scope["extensions"] = {"test.transport": {"transport": self.transport}}
        super().on_headers_complete()


def application(arm: FakeArm) -> Starlette:
    async def metadata(request: Request) -> Response:
        assert request.query_params["api-version"] == "2022-09-01"
        authentication = {"loginEndpoint": arm.url, "audiences": [f"{arm.url}/"]}
        return JSONResponse({"name": "fake", "resourceManager": f"{arm.url}/", "authentication": authentication})

    async def discovery(request: Request) -> Response:
        base = f"{arm.url}/{request.path_params['tenant']}"
        return JSONResponse(
            {
                "token_endpoint": f"{base}/oauth2/v2.0/token",
                "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
                "issuer": f"{base}/v2.0",
            }
        )

    async def token(request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        if form["client_secret"] != SECRET:
            return JSONResponse({"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret"}, 401)
        assert form["scope"] == f"{arm.url}/.default"
        arm.tokens += 1
        signed = jwt.encode({"oid": PRINCIPAL, "appid": CLIENT, "tid": TENANT}, "k" * 32, algorithm="HS256")
        return JSONResponse({"access_token": signed, "token_type": "Bearer", "expires_in": 3600})

    async def operation(request: Request) -> Response:
        if "never-finish" in arm.faults:
            return JSONResponse({"status": "InProgress"}, headers={"Retry-After": "1"})
        if arm.use("fail-operation"):
            error = {"code": "InaccessibleImage", "message": "The image 'x' in container group 'g' is not accessible."}
            return JSONResponse({"status": "Failed", "error": error})
        return JSONResponse({"status": "Succeeded"})

    async def resource(request: Request) -> Response:
        body = await request.json() if request.method in ("PUT", "PATCH") else None
        arm.requests.append((request.method, request.url.path, body))
        assert request.headers["authorization"].startswith("Bearer ")
        return await answer(arm, request, body)

    return Starlette(
        routes=[
            Route("/metadata/endpoints", metadata),
            Route("/{tenant}/v2.0/.well-known/openid-configuration", discovery),
            Route("/{tenant}/oauth2/v2.0/token", token, methods=["POST"]),
            Route("/operations/1", operation),
            Route("/subscriptions/{path:path}", resource, methods=["GET", "PUT", "PATCH", "DELETE", "POST"]),
        ]
    )


async def answer(arm: FakeArm, request: Request, body: Any) -> Response:
    path = request.url.path
    if path.endswith("/sharedKeys") and request.method == "POST":
        return JSONResponse({"primarySharedKey": "one", "secondarySharedKey": "two"})
    if path.endswith("/listClusterUserCredential") and request.method == "POST":
        return JSONResponse({"kubeconfigs": [{"name": "clusterUser", "value": request.query_params.get("format", "")}]})
    parsed = arm_ids.parse(path)
    if parsed is None or parsed.type.lower() not in BY_ARM_TYPE:
        arm.unexpected.append(f"{request.method} {path}")
        return error(501, "NotImplemented", path)
    azure_type = BY_ARM_TYPE[parsed.type.lower()]
    version = request.query_params["api-version"]
    if version not in api_versions(azure_type):
        arm.unexpected.append(f"{request.method} {path} api-version={version}")
    if arm.use("throttle"):
        return JSONResponse({"error": {"code": "TooManyRequests", "message": "slow down"}}, 429, {"Retry-After": "1"})
    found = arm.resources.get(parsed.key)
    if request.method == "GET":
        if found and arm.use("fail-read"):
            return error(403, "AuthorizationFailed", "The client does not have authorization.")
        return JSONResponse(found) if found else error(404, "ResourceNotFound", f"The Resource '{path}' was not found.")
    if request.method == "DELETE":
        arm.resources.pop(parsed.key, None)
        return Response(status_code=200 if found else 204)
    problems = arm_types.arm_problems(azure_type.arm_type, default_api_version(azure_type), body)
    if problems or arm.use("refuse"):
        return error(
            400, "InvalidRequestContent", "The request content was invalid.", [{"code": "Bad", "message": m} for m in problems]
        )
    if found and arm.use("conflict"):
        return error(409, "AnotherOperationInProgress", "Another operation on this resource is in progress.")
    created = {**body, "id": parsed.text, "name": parsed.name, "type": azure_type.arm_type}
    created["properties"] = {**(body.get("properties") or {}), "provisioningState": "Succeeded"}
    arm.resources[parsed.key] = created
    if "lose-always" in arm.faults or arm.use("lose-answer"):
        request.scope["extensions"]["test.transport"]["transport"].abort()
        return Response()
    if {"fail-operation", "never-finish"} & set(arm.faults):
        created["properties"]["provisioningState"] = "Failed" if "fail-operation" in arm.faults else "Creating"
        headers = {"Azure-AsyncOperation": f"{arm.url}/operations/1?api-version={version}", "Retry-After": "1"}
        return JSONResponse(created, 201, headers)
    return JSONResponse(created, 200 if found else 201)


def error(status: int, code: str, message: str, details: list[Any] | None = None) -> Response:
    content: dict[str, Any] = {"code": code, "message": message}
    return JSONResponse({"error": content | ({"details": details} if details else {})}, status)


@contextmanager
def serving(folder: Path) -> Iterator[FakeArm]:
    """A running fake on loopback TLS, with its own authority."""
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    key, bundle = folder / "server.pem", folder / "ca.pem"
    key.write_bytes(certificate.private_key_and_cert_chain_pem.bytes())
    authority.cert_pem.write_to_path(str(bundle))
    arm = FakeArm(bundle=str(bundle))
    config = uvicorn.Config(
        application(arm),
        host="127.0.0.1",
        port=0,
        ssl_certfile=str(key),
        ssl_keyfile=str(key),
        log_level="critical",
        http=_Abortable,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE_S
    while not server.started:
        assert time.monotonic() < deadline, "the fake ARM didn't start"
        time.sleep(0.01)
    arm.url = f"https://localhost:{server.servers[0].sockets[0].getsockname()[1]}"
    yield arm
    server.should_exit = server.force_exit = True  # clients keep their connections open
    thread.join(PATIENCE_S)
