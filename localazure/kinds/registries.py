"""Container registries: a login server, admin credentials where they are enabled, and the runs that built images into it.

The login server is `<name>.azurecr.local`, which no name server knows: images are pulled inside the embedded Azure only. Pushing
from outside isn't served. Defaults of the service: Microsoft Learn, REST reference of Microsoft.ContainerRegistry
2023-01-01-preview, "Create".
"""

import hmac
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from formats import azure_types
from localazure.arm.errors import ArmError
from localazure.arm.kind import Action, Answer, Call, Change, Kind
from localazure.arm.store import Body, Resource
from localazure.kinds import registry_runs

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from localazure.services import Services

LOGIN_SUFFIX = ".azurecr.local"
PASSWORD_BYTES = 39  # 52 characters, as long as the service's
_PASSWORDS = ("password", "password2")


class Registries(Kind):
    """Created at once; the real service takes some seconds."""

    azure_type = azure_types.REGISTRY
    # 2019-06-01-preview: clients ask for runs and their logs. 2026-09-01-preview: `az acr` of azure-cli 2.91.
    extra_api_versions = frozenset({"2019-06-01-preview", "2026-09-01-preview"})
    globally_unique = (409, "AlreadyInUse", f"The registry DNS name {{name}}{LOGIN_SUFFIX} is already in use.")

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"listCredentials": self.list_credentials, "runs/{run}/listLogSasUrl": self.log_address}

    @property
    def reads(self) -> Mapping[str, Action]:
        return {"runs": self.list_runs, "runs/{run}": self.show_run}

    def routes(self, services: "Services") -> list["BaseRoute"]:
        async def run_log(request: Request) -> Response:
            login, run = request.path_params["login"], request.path_params["run"]
            record = registry_runs.find(services.store, login, run)
            given = request.query_params.get("sig", "")
            if record is None or not hmac.compare_digest(record["signature"].encode(), given.encode()):
                return PlainTextResponse("There is no such log, or its address isn't whole.", 404)
            log = Path(record["log"])
            return PlainTextResponse(log.read_text(encoding="utf-8") if log.exists() else "")

        return [Route("/registry-logs/{login}/{run}", run_log)]

    def defaults(self, change: Change) -> Body:  # noqa: ARG002
        return {
            "properties": {
                "adminUserEnabled": False,
                "anonymousPullEnabled": False,
                "dataEndpointEnabled": False,
                "encryption": {"status": "disabled"},
                "networkRuleBypassOptions": "AzureServices",
                "publicNetworkAccess": "Enabled",
                "zoneRedundancy": "Disabled",
            }
        }

    async def provision(self, change: Change) -> Body:
        service: Body = {"sku": {"tier": change.body["sku"]["name"]}}
        if change.previous is None and change.resource is not None:
            change.resource.private["passwords"] = {name: secrets.token_urlsafe(PASSWORD_BYTES) for name in _PASSWORDS}
            service["properties"] = {
                "loginServer": login_server(change.id.name),
                "creationDate": change.services.clock.stamp(),
                "dataEndpointHostNames": [],
                "privateEndpointConnections": [],
            }
        return service

    async def remove(self, resource: Resource, services: "Services") -> None:
        services.images.forget(login_server(resource.id.name))
        registry_runs.forget(services.store, login_server(resource.id.name))

    async def list_credentials(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        if not resource.properties.get("adminUserEnabled"):
            raise ArmError(
                400,
                "UnAuthorizedForCredentialOperations",
                f"Cannot perform credential operations for {resource.id.text} as admin user is disabled. Kindly enable admin "
                "user as per docs: https://docs.microsoft.com/en-us/azure/container-registry/container-registry-authentication#admin-account",
            )
        passwords = [{"name": name, "value": value} for name, value in resource.private["passwords"].items()]
        return Answer(body={"username": resource.id.name, "passwords": passwords})

    async def list_runs(self, resource: Resource, call: Call) -> Answer:
        records = registry_runs.all_of(call.services.store, login_server(resource.id.name))
        return Answer(body={"value": [registry_runs.document(resource.id.text, record) for record in records]})

    async def show_run(self, resource: Resource, call: Call) -> Answer:
        return Answer(body=registry_runs.document(resource.id.text, self._run(resource, call)))

    async def log_address(self, resource: Resource, call: Call) -> Answer:
        """Where a run's log can be read: an address that carries its own permission, as the service's does."""
        record = self._run(resource, call)
        address = f"{call.services.settings.url}/registry-logs/{login_server(resource.id.name)}/{record['runId']}"
        return Answer(body={"logLink": f"{address}?sig={record['signature']}"})

    def _run(self, resource: Resource, call: Call) -> Body:
        record = registry_runs.find(call.services.store, login_server(resource.id.name), call.path["run"])
        if record is None:
            # The service's own code isn't known.
            raise ArmError(404, "RunNotFound", f"The registry '{resource.id.name}' has no run '{call.path['run']}'.")
        return record


def login_server(name: str) -> str:
    return name.lower() + LOGIN_SUFFIX
