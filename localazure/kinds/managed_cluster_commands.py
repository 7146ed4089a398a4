"""The run command of a cluster, and its results: `az aks command invoke` and `az aks command result`.

Answers as recorded in Azure/azure-cli, test_aks_run_command.yaml (2022-05-13): 202 with the address of the result alone, which
answers 202 while the command runs. What Azure answers where `disableRunCommand` is set isn't shown anywhere; that it refuses is
documented (MicrosoftDocs/azure-aks-docs, articles/aks/access-private-cluster.md, 2025-06-10).
"""

import base64
import binascii
import zipfile

from localazure.arm.errors import ArmError, refused
from localazure.arm.kind import Answer, Call
from localazure.arm.store import Body, Resource
from localazure.kubernetes.clusters import Clusters
from localazure.kubernetes.run_commands import RunCommands


class ClusterCommands:
    """Results are those of this server: after a restart none is found."""

    def __init__(self, clusters: Clusters) -> None:
        self._commands = RunCommands(clusters)

    async def run(self, resource: Resource, call: Call) -> Answer:
        if (resource.properties.get("apiServerAccessProfile") or {}).get("disableRunCommand"):
            raise refused("aks: command disabled")
        shell = _text(call.body, "command")
        if not shell:
            raise refused("aks: missing", parameter="command")
        # Without Entra nobody is told apart, as in a kubeconfig of such a cluster.
        token = _text(call.body, "clusterToken") if resource.properties.get("aadProfile") else None
        try:
            files = base64.b64decode(_text(call.body, "context"))  # in lines, as the Azure CLI sends it
            command = self._commands.begin(resource.key, shell, token, files, call.services.clock.stamp)
        except (binascii.Error, zipfile.BadZipFile) as error:
            raise refused("aks: invalid", parameter="context", why=f"It isn't a zip file in base64: {error}") from error
        return Answer(status=202, headers=_location(resource, command.id, call))

    async def result(self, resource: Resource, call: Call) -> Answer:
        command = self._commands.find(resource.key, call.path["command"])
        if command is None:
            raise ArmError(404, "NotFound", f"There is no command '{call.path['command']}'.")
        if command.exit_code is None:
            shown: Body = {"provisioningState": "Running"}
            return Answer(status=202, body={"id": command.id, "properties": shown}, headers=_location(resource, command.id, call))
        shown = {
            "provisioningState": "Succeeded",  # of the command's run, whatever its exit code
            "exitCode": command.exit_code,
            "startedAt": command.started_at,
            "finishedAt": command.finished_at,
            "logs": command.output,
        }
        return Answer(body={"id": command.id, "properties": shown})


def _text(body: Body, name: str) -> str:
    found = body.get(name) or ""
    if not isinstance(found, str):
        raise refused("aks: invalid", parameter=name, why="It takes a text")
    return found


def _location(resource: Resource, command_id: str, call: Call) -> dict[str, str]:
    version = next((value for key, value in call.query.items() if key.lower() == "api-version"), "")
    return {"Location": f"{call.services.settings.url}{resource.id.text}/commandResults/{command_id}?api-version={version}"}
