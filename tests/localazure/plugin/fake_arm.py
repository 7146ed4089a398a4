"""A strict ARM for tests of the plugin, in this process: metadata, sign-in and whole bodies, each checked by Microsoft's types.

What it doesn't know, it refuses, and the test finds it in `unexpected`. It has no rules of services: those are the embedded
Azure's, and tested there.
"""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import httpx
import jwt

from azure_gpu.formats import arm_ids, azure_types
from localazure.shapes import api_versions, default_api_version
from tests.oracle import arm_types

HOST = "arm.example:8443"
URL = f"https://{HOST}"
TENANT = "11111111-1111-1111-1111-111111111111"
CLIENT = "22222222-2222-2222-2222-222222222222"
PRINCIPAL = "33333333-3333-3333-3333-333333333333"
SECRET = "the-client-secret"
BY_ARM_TYPE = {each.arm_type.lower(): each for each in azure_types.ALL}


@dataclass
class FakeArm:
    """Its state and what it was asked; faults are set by name and used up once each."""

    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    tokens: int = 0

    def sent(self, method: str) -> list[Any]:
        return [body for sent, path, body in self.requests if sent == method]

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.url.netloc.decode() != HOST:
            raise httpx.ConnectError("Connection refused")
        if path == "/metadata/endpoints":
            assert request.url.params["api-version"] == "2022-09-01"
            authentication = {"loginEndpoint": URL, "audiences": [f"{URL}/"]}
            return httpx.Response(200, json={"name": "fake", "resourceManager": f"{URL}/", "authentication": authentication})
        if path.endswith("/v2.0/.well-known/openid-configuration"):
            base = f"{URL}/{path.split('/')[1]}"
            endpoints = {f"{each}_endpoint": f"{base}/oauth2/v2.0/{each}" for each in ("token", "authorize")}
            issuer = {"issuer": f"{base}/v2.0", "authorization_endpoint": endpoints.pop("authorize_endpoint")}
            return httpx.Response(200, json={**endpoints, **issuer})
        if path.endswith("/oauth2/v2.0/token"):
            return self._token(request)
        assert request.headers["authorization"].startswith("Bearer ")
        if path == "/operations/1":
            return self._operation()
        body = json.loads(request.content) if request.method in ("PUT", "PATCH") else None
        self.requests.append((request.method, path, body))
        return self._resource(request, path, body)

    def _use(self, fault: str) -> bool:
        if fault in self.faults:
            self.faults.remove(fault)
            return True
        return False

    def _token(self, request: httpx.Request) -> httpx.Response:
        form = dict(parse_qsl(request.content.decode()))
        if form["client_secret"] != SECRET:
            told = {"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret"}
            return httpx.Response(401, json=told)
        assert form["scope"] == f"{URL}/.default"
        self.tokens += 1
        signed = jwt.encode({"oid": PRINCIPAL, "appid": CLIENT, "tid": TENANT}, "k" * 32, algorithm="HS256")
        return httpx.Response(200, json={"access_token": signed, "token_type": "Bearer", "expires_in": 3600})

    def _operation(self) -> httpx.Response:
        if "never-finish" in self.faults:
            return httpx.Response(200, json={"status": "InProgress"}, headers={"Retry-After": "1"})
        if self._use("fail-operation"):
            error = {"code": "InaccessibleImage", "message": "The image 'x' in container group 'g' is not accessible."}
            return httpx.Response(200, json={"status": "Failed", "error": error})
        return httpx.Response(200, json={"status": "Succeeded"})

    def _resource(self, request: httpx.Request, path: str, body: Any) -> httpx.Response:
        if path.endswith("/sharedKeys") and request.method == "POST":
            return httpx.Response(200, json={"primarySharedKey": "one", "secondarySharedKey": "two"})
        if path.endswith("/listClusterUserCredential") and request.method == "POST":
            return httpx.Response(
                200, json={"kubeconfigs": [{"name": "clusterUser", "value": request.url.params.get("format", "")}]}
            )
        parsed = arm_ids.parse(path)
        if parsed is None or parsed.type.lower() not in BY_ARM_TYPE:
            self.unexpected.append(f"{request.method} {path}")
            return _error(501, "NotImplemented", path)
        azure_type = BY_ARM_TYPE[parsed.type.lower()]
        version = request.url.params["api-version"]
        if version not in api_versions(azure_type):
            self.unexpected.append(f"{request.method} {path} api-version={version}")
        if self._use("throttle"):
            return httpx.Response(
                429, json={"error": {"code": "TooManyRequests", "message": "slow down"}}, headers={"Retry-After": "1"}
            )
        found = self.resources.get(parsed.key)
        if request.method == "GET":
            if found and self._use("fail-read"):
                return _error(403, "AuthorizationFailed", "The client does not have authorization.")
            return (
                httpx.Response(200, json=found)
                if found
                else _error(404, "ResourceNotFound", f"The Resource '{path}' was not found.")
            )
        if request.method == "DELETE":
            self.resources.pop(parsed.key, None)
            return httpx.Response(200 if found else 204)
        problems = arm_types.arm_problems(azure_type.arm_type, default_api_version(azure_type), body)
        if problems or self._use("refuse"):
            return _error(
                400,
                "InvalidRequestContent",
                "The request content was invalid.",
                [{"code": "Bad", "message": m} for m in problems],
            )
        if found and self._use("conflict"):
            return _error(409, "AnotherOperationInProgress", "Another operation on this resource is in progress.")
        created = {**body, "id": parsed.text, "name": parsed.name, "type": azure_type.arm_type}
        created["properties"] = {**(body.get("properties") or {}), "provisioningState": "Succeeded"}
        self.resources[parsed.key] = created
        if "lose-always" in self.faults or self._use("lose-answer"):
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        if {"fail-operation", "never-finish"} & set(self.faults):
            created["properties"]["provisioningState"] = "Failed" if "fail-operation" in self.faults else "Creating"
            headers = {"Azure-AsyncOperation": f"{URL}/operations/1?api-version={version}", "Retry-After": "1"}
            return httpx.Response(201, json=created, headers=headers)
        return httpx.Response(200 if found else 201, json=created)


def _error(status: int, code: str, message: str, details: list[Any] | None = None) -> httpx.Response:
    content: dict[str, Any] = {"code": code, "message": message}
    return httpx.Response(status, json={"error": content | ({"details": details} if details else {})})
