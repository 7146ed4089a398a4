"""Requests of a virtual machine's programs to the embedded Azure, at an address that holds the machine's own secret."""

import json

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from localazure.machines import identity_tokens
from localazure.machines.containers import DockerError
from localazure.machines.machines import Machines
from localazure.machines.ml_jobs import JobRunner
from localazure.services import Services


def routes(machines: Machines, jobs: JobRunner, services: Services) -> list[BaseRoute]:
    async def token(request: Request) -> Response:
        machine = machines.by_secret(request.path_params["secret"])
        if machine is not None:
            held = identity_tokens.held_by(services.store.get(machine.key), services)
            return identity_tokens.token(held, request, services)
        run = jobs.by_secret(request.path_params["secret"])
        return identity_tokens.token(run.identities(), request, services) if run else Response(status_code=404)

    async def program(request: Request) -> Response:
        """What a program is refused goes to it as words."""
        machine = machines.by_secret(request.path_params["secret"])
        if machine is None:
            return Response(status_code=404)
        try:
            asked = json.loads(await request.body())
            return JSONResponse(await machines.docker.answer(machine, request.path_params["program"], asked))
        except DockerError as error:
            return JSONResponse({"error": str(error), "code": error.code})

    return [
        Route("/machines/{secret}/metadata/identity/oauth2/token", token, methods=["GET", "POST"]),
        Route("/machines/{secret}/{program}", program, methods=["POST"]),
    ]
