"""Requests of a virtual machine's programs to the embedded Azure, at an address that holds the machine's own secret."""

import json
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from localazure.arm.store import Body
from localazure.machines import identity_tokens
from localazure.machines.containers import DockerError, identity_of
from localazure.machines.machine import Machine
from localazure.machines.machines import Machines
from localazure.machines.ml_jobs import JobRunner
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION


def routes(machines: Machines, jobs: JobRunner, services: Services) -> list[BaseRoute]:
    requests = MachineRequests(machines, jobs, services)
    return [
        Route("/machines/{secret}/metadata/identity/oauth2/token", requests.token, methods=["GET", "POST"]),
        Route("/machines/{secret}/docker", requests.program(requests.docker), methods=["POST"]),
        Route("/machines/{secret}/az", requests.program(requests.az), methods=["POST"]),
    ]


class MachineRequests:
    """Answers the requests of machines' programs."""

    def __init__(self, machines: Machines, jobs: JobRunner, services: Services) -> None:
        self._machines = machines
        self._jobs = jobs
        self._services = services

    async def token(self, request: Request) -> Response:
        secret = request.path_params["secret"]
        machine = self._machines.by_secret(secret)
        if machine is not None:
            held = identity_tokens.held_by(self._services.store.get(machine.key), self._services)
            return identity_tokens.token(held, request, self._services)
        run = self._jobs.by_secret(secret)
        return identity_tokens.token(run.identities(), request, self._services) if run else Response(status_code=404)

    def program(self, answer: Callable[[Machine, Body], Awaitable[Body]]) -> Callable[[Request], Awaitable[Response]]:
        """An answer for one of a machine's programs; what it is refused goes to it as words."""

        async def answered(request: Request) -> Response:
            machine = self._machines.by_secret(request.path_params["secret"])
            if machine is None:
                return Response(status_code=404)
            try:
                return JSONResponse(await answer(machine, json.loads(await request.body())))
            except DockerError as error:
                return JSONResponse({"error": str(error), "code": error.code})

        return answered

    async def docker(self, machine: Machine, requested: Body) -> Body:
        return await self._machines.docker.answer(machine, requested)

    async def az(self, machine: Machine, requested: Body) -> Body:
        match requested.get("do"):
            case "login":
                principal, client = identity_of(machine, str(requested.get("identity") or ""), self._services)
                machine.record["signed_on"] = {"principal": principal, "client": client}
                machine.context.save(machine)
                return self._account(machine)
            case "acr":
                signed = machine.record["signed_on"]
                if not signed:
                    raise DockerError("Please run 'az login' to setup account.")
                self._machines.docker.login_as(machine, str(requested.get("registry") or ""), signed["principal"])
                return {}
            case _:
                raise DockerError("az: the embedded Azure does not implement that")

    def _account(self, machine: Machine) -> Body:
        signed = machine.record["signed_on"]
        if not signed:
            raise DockerError("Please run 'az login' to setup account.")
        user = {
            "assignedIdentityInfo": f"MSIClient-{signed['client']}",
            "name": "userAssignedIdentity",
            "type": "servicePrincipal",
        }
        tenant = self._services.settings.tenant_id
        return {"environmentName": "AzureLocal", "id": SUBSCRIPTION, "isDefault": True, "tenantId": tenant, "user": user}
