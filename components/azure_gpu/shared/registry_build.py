"""Builds an image in a registry from files here, as `az acr build` does: upload, schedule a run, wait.

An image that the registry has already built from the same content is reused. BuildFailedError has the log's last lines. A run
that is given up, at its limit or by Ctrl-C, is cancelled: the service would go on with it, and bill it. Of one that waits for an
agent it is said behind how many others, and after a while the likely reason.

Sources: azure-cli, command_modules/acr (build.py, _archive_utils.py: the order of requests, the block blob of the upload); REST
reference of Microsoft.ContainerRegistry 2019-06-01-preview, "Schedule Run", "Runs". azure-mgmt-containerregistry 15 has no
methods for them any more. Builds that stay queued: Azure/azure-cli issue 31841 (2025-07-18), Azure/bicep-ptn-aiml-landing-zone
issue 18 (2026-04-26); registries that the service's agents can't reach: Microsoft Learn, container-registry-tasks-agent-pools.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from azure_gpu.catalog import roles
from azure_gpu.formats.build_context import HASH_ARGUMENT, Context, archive
from azure_gpu.shared.polling import first_line, poll_until

Say = Callable[[str], None]
API_VERSION = "2019-06-01-preview"  # of runs
MODE_VERSION = roles.REGISTRY_MODE_API
QUEUED = "Queued"
QUEUED_SECONDS = 15.0  # after which a queued run is mentioned
LONG_QUEUED_SECONDS = 300.0  # after which the reason is
PLACE_SECONDS = 60.0  # between two looks at the runs before it
_OPEN = frozenset({QUEUED, "Started", "Running"})


class Requests(Protocol):
    """Sends requests to Azure; raises one of `errors` for a failed one, whose `status` is the answer's, if there is one."""

    @property
    def errors(self) -> tuple[type[Exception], ...]: ...

    def get(self, resource_id: str, api_version: str) -> dict[str, Any] | None: ...

    def post(self, path: str, api_version: str, body: dict[str, Any] | None = None) -> dict[str, Any]: ...

    def values(self, path: str, api_version: str) -> Iterator[dict[str, Any]]:
        """All pages of a list."""
        ...

    def upload(self, url: str, content: bytes, seconds: float) -> None:
        """Puts a block blob to a URL with a signature, which no error may show."""
        ...

    def text(self, url: str) -> str:
        """What such a URL has."""
        ...


class Queue:
    """One run of a registry."""

    def __init__(self, arm: Requests, registry_id: str, run_id: str, say: Say) -> None:
        self._arm, self._id, self._run_id, self._say = arm, registry_id, run_id, say
        self._name = registry_id.rpartition("/")[2]
        self._place, self._looked, self._is_explained = "", 0.0, False
        self.command = f"az acr task list-runs --registry {self._name} --top 20"

    def tell(self, run: Mapping[str, Any], waited: float) -> None:
        """Says that it is queued and its place, when that changes; after a while the likely reason."""
        if run.get("status") != QUEUED:
            if self._looked:
                self._say(f"run {self._run_id} has an agent after {waited / 60:.0f} minutes in the queue")
            self._looked = 0.0
            return
        if waited >= QUEUED_SECONDS and (not self._looked or waited - self._looked >= PLACE_SECONDS):
            self._looked = waited
            place = f"run {self._run_id} is queued: no build agent has taken it yet{self._ahead()}"
            if place != self._place:
                self._place = place
                self._say(place)
        if waited >= LONG_QUEUED_SECONDS and not self._is_explained:
            self._is_explained = True
            self._say(f"run {self._run_id} is still queued after {waited / 60:.0f} minutes: {self.reason()}; see: {self.command}")

    def reason(self) -> str:
        registry = (self._arm.get(self._id, MODE_VERSION) or {}).get("properties") or {}
        pool = f"an agent pool of its own (az acr agentpool create --registry {self._name}, then az acr build --agent-pool)"
        if registry.get("publicNetworkAccess") == "Disabled":
            return f"the registry is closed to public networks, and so to the service's own agents; it requires {pool}"
        return f"the service has no free agent in the registry's region, or the registry's network requires {pool}"

    def _ahead(self) -> str:
        """How many runs of the registry were there before; "" if that isn't known."""
        runs = {str(each.get("name")): each.get("properties") or {} for each in self._arm.values(f"{self._id}/runs", API_VERSION)}
        own = str((runs.get(self._run_id) or {}).get("createTime") or "")
        if not own:
            return ""
        ahead = [each for each in runs.values() if each.get("status") in _OPEN and str(each.get("createTime")) < own]
        return f"; {len(ahead)} of this registry's runs are ahead of it"


REGISTRY_VERSION = "2023-01-01-preview"
# A registry with repository permissions (ABAC) runs a build only with an identity: that of the caller, who needs the
# role Container Registry Repository Writer. The mode and the builder's identity are of these versions. Sources: azure-cli,
# command_modules/acr/build.py (2026-04); Microsoft Learn, container-registry-rbac-abac-repository-permissions (2026-11-24).
MODE_BUILD_VERSION = "2025-03-01-preview"
AS_CALLER = {"sourceRegistry": {"identity": "[caller]"}}
POLL_SECONDS = 2.0
UPLOAD_SECONDS = 300
UPLOAD_BYTES_PER_SECOND = 128 * 1024  # 1 Mbit/s, for which a larger context has more time
LAST_LINES = 25
_ENDED = frozenset({"Succeeded", "Failed", "Canceled", "Error", "Timeout"})


class BuildFailedError(Exception):
    """A build that ended without an image. The text has the log's last lines."""


class Registry:
    """One container registry. `longer`: what sets a longer limit of a build."""

    def __init__(self, arm: Requests, registry_id: str, server: str, longer: str) -> None:
        self._arm = arm
        self._id = registry_id
        self.server = server
        self._longer = longer

    def built_before(self, context: Context) -> bool:
        """Whether a run of this registry has pushed an image of this name and tag."""
        image = (context.repository, context.tag)
        return any((each.get("repository"), each.get("tag")) == image for each in self._images())

    def build(self, context: Context, say: Say, *, sleep: Callable[[float], None] = time.sleep) -> str:
        """Returns the image's full name once it is built."""
        image = f"{self.server}/{context.image}"
        if self.built_before(context):
            say(f"{image} is already built")
            return image
        run_id = self._schedule(context, self._upload(context))
        say(f"building {image} in the registry (run {run_id})")
        run = self._wait(context, run_id, say, sleep)
        if run.get("status") != "Succeeded":
            raise BuildFailedError(self._failure(context, run_id, run))
        return image

    def _images(self) -> Iterator[dict[str, Any]]:
        for run in self._arm.values(f"{self._id}/runs", API_VERSION):
            properties = run.get("properties") or {}
            if properties.get("status") == "Succeeded":
                yield from properties.get("outputImages") or []

    def _upload(self, context: Context) -> str:
        """Uploads the context; returns its location in the registry's storage."""
        upload = self._arm.post(f"{self._id}/listBuildSourceUploadUrl", API_VERSION)
        packed = archive(context)
        limit = UPLOAD_SECONDS + len(packed) / UPLOAD_BYTES_PER_SECOND
        self._arm.upload(upload["uploadUrl"], packed, limit)
        return upload["relativePath"]

    def _schedule(self, context: Context, source: str) -> str:
        request: dict[str, Any] = {
            "type": "DockerBuildRequest",
            "sourceLocation": source,
            "dockerFilePath": context.dockerfile,
            "imageNames": [context.image],
            "isPushEnabled": True,
            "platform": {"os": "Linux", "architecture": "amd64"},
            "arguments": [{"name": HASH_ARGUMENT, "value": context.tag}],
            "timeout": round(context.build_minutes * 60),
        }
        version = API_VERSION
        if self._is_abac():
            request["credentials"], version = AS_CALLER, MODE_BUILD_VERSION
        return self._arm.post(f"{self._id}/scheduleRun", version, request)["properties"]["runId"]

    def _is_abac(self) -> bool:
        registry = self._arm.get(self._id, MODE_VERSION) or {}
        return (registry.get("properties") or {}).get(roles.REGISTRY_MODE) == roles.ABAC

    def _wait(self, context: Context, run_id: str, say: Say, sleep: Callable[[float], None]) -> dict[str, Any]:
        """The run as it ended. One that isn't waited for any more is cancelled."""
        queue = Queue(self._arm, self._id, run_id, say)
        began = time.monotonic()

        def look() -> dict[str, Any] | None:
            run = (self._arm.get(f"{self._id}/runs/{run_id}", API_VERSION) or {}).get("properties") or {}
            waited = time.monotonic() - began
            if run.get("status") not in _ENDED:
                queue.tell(run, waited)
            return run if run.get("status") in _ENDED or waited >= context.build_minutes * 60 else None

        try:
            run = poll_until(
                look,
                errors=self._arm.errors,
                unreachable=f"the state of run {run_id} can't be read",
                on_give_up=f"run {run_id} of the registry may go on until its limit",
                see=queue.command,
                say=say,
                poll_seconds=POLL_SECONDS,
                sleep=sleep,
            )
        except BaseException:
            self._cancel(run_id, say)
            raise
        if run.get("status") in _ENDED:
            return run
        is_cancelled = self._cancel(run_id, say)
        state = f"is still {run.get('status') or 'Unknown'} after {context.build_minutes:g} minutes"
        why = queue.reason() if run.get("status") == QUEUED else self._longer
        raise BuildFailedError(
            f"{context.described} can't be built: run {run_id} of the registry {state}"
            f"{' and was cancelled' if is_cancelled else ''}; {why}"
        )

    def _cancel(self, run_id: str, say: Say) -> bool:
        """Cancels a run. Returns False, after a message, if it may go on."""
        try:
            self._arm.post(f"{self._id}/runs/{run_id}/cancel", API_VERSION)
        except (KeyboardInterrupt, *self._arm.errors) as error:
            name = self._id.rpartition("/")[2]
            command = f"az acr task cancel-run --registry {name} --run-id {run_id}"
            why = f" ({first_line(error)})" if str(error) else ""
            say(f"run {run_id} of the registry may go on and be billed{why}; cancel it: {command}")
            return False
        say(f"run {run_id} of the registry is cancelled")
        return True

    def _failure(self, context: Context, run_id: str, run: dict[str, Any]) -> str:
        lines = self._log(run_id)
        shown = "\n".join(f"  {line}" for line in lines[-LAST_LINES:])
        message = run.get("runErrorMessage") or ""
        state = run.get("status") or "Unknown"
        heading = f"{context.described} can't be built: run {run_id} of the registry ended as {state}"
        cause = (self._longer if state == "Timeout" else cause_of(lines)) or (
            f"the registry uses repository permissions: you need the role {roles.NAMES[roles.REPOSITORY_WRITER]} on it"
            if self._is_abac()
            else ""
        )
        parts = [heading + (f"; {cause}" if cause else f": {message.splitlines()[0]}" if message and not shown else "")]
        return "\n".join([*parts, "last lines of its log:", shown] if shown else parts)

    def _log(self, run_id: str) -> list[str]:
        """Its lines; none if they can't be read, because the failure itself matters more."""
        try:
            link = self._arm.post(f"{self._id}/runs/{run_id}/listLogSasUrl", API_VERSION)["logLink"]
            text = self._arm.text(link)
        except (KeyError, *self._arm.errors):
            return []
        return [line.rstrip() for line in text.splitlines()]


# Messages of pip, and of uv on the embedded Azure, for requirements that can't be satisfied.
_UNRESOLVED = (
    "No matching distribution found",
    "Could not find a version that satisfies",
    "ResolutionImpossible",
    "conflicting dependencies",
    "No solution found when resolving",
    "Invalid requirement",
    "Couldn't parse requirement",
)


# Azure/acr issues 603 (2022-02-21) and 662 (2023-01-09): builds of a registry without public access.
_CLOSED = "is not allowed access. Refer https://aka.ms/acr/firewall to grant access"


def cause_of(lines: list[str]) -> str:
    """The cause of a common failure in a build's log; else ""."""
    text = "\n".join(lines)
    if _CLOSED in text:
        return (
            "the registry is closed to public networks, and so to the service's own agents: build and push the image on a "
            "machine in its network, and use it by digest"
        )
    if any(words in text for words in _UNRESOLVED):
        return "the requirements can't be installed; correct the requirements file"
    return ""
