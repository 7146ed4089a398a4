"""One Docker build of a registry: what its request may say, and how it runs.

The run's record gets the images, or the reason of the failure.
"""

import asyncio
import shutil
from pathlib import Path

from azure_gpu.formats import image_reference
from azure_gpu.formats.image_reference import ImageReference
from localazure.arm.errors import not_implemented, refused
from localazure.arm.store import Body
from localazure.containers.build_log import BuildFailedError
from localazure.containers.images import Image
from localazure.kinds import build_sources, registry_runs
from localazure.kinds.registry_runs import login_server
from localazure.services import Services
from localazure.weather import registry_limits

TIMEOUT_SECONDS = 3600  # the service's default; `timeout` changes it
RUN_ID = "{{.Run.ID}}"  # in an image's name, the run's id


def check(request: Body, registry: str, where: str) -> None:
    """ArmError for what can't be built. `where`: the request's own path in the body, "" for the whole body."""
    if request["type"] != "DockerBuildRequest":
        raise not_implemented(f"runs of type '{request['type']}'; only DockerBuildRequest is supported")
    platform = request["platform"]
    if platform["os"].lower() != "linux" or (platform.get("architecture") or "amd64").lower() != "amd64":
        raise not_implemented("builds for a platform other than Linux on amd64")
    if (request.get("credentials") or {}).get("customRegistries"):
        raise not_implemented("credentials of other registries in a run request")
    if not request.get("sourceLocation"):
        raise refused("run: no source", where=where)
    for name in request.get("imageNames") or []:
        _reference(registry, name, "ca0", where)


async def run(request: Body, registry: str, record: Body, services: Services) -> str:
    """Builds to the end, and keeps in the record what came of it. Returns why it failed, or ""."""
    record["platform"] = dict(request["platform"])
    failure, status = await _built(request, registry, record, services)
    record["finishTime"] = record["lastUpdatedTime"] = services.clock.stamp()
    record["provisioningState"] = "Failed" if failure else "Succeeded"
    record["status"] = status
    if failure:
        record["runErrorMessage"] = failure
    registry_runs.keep(registry, record, services)
    return failure


async def _built(request: Body, registry: str, record: Body, services: Services) -> tuple[str, str]:
    """Why it failed, or "", and the run's status."""
    pushed = request.get("isPushEnabled", True)
    names = request.get("imageNames") or []
    references = [_reference(registry, name, record["runId"], "") for name in names] if pushed else []
    seconds = request.get("timeout") or TIMEOUT_SECONDS
    log = Path(record["log"])
    unpacked = services.settings.state / "sources" / f"{registry.lower()}-{record['runId']}"
    try:
        context = await asyncio.to_thread(_context, request["sourceLocation"], registry, unpacked, services)
        arguments = {argument["name"]: argument["value"] for argument in request.get("arguments") or []}
        registry_limits.check_network(registry, services)
        registry_limits.check_bases(context, request["dockerFilePath"], arguments, services)
        async with asyncio.timeout(seconds):
            image = await services.images.build(
                context,
                request["dockerFilePath"],
                arguments,
                [str(reference) for reference in references],
                log,
                target=request.get("target") or "",
            )
    except BuildFailedError as error:
        _say(log, f"failed at {error}")
        return f"{error} (log: {log})", "Failed"
    except TimeoutError:
        return f"the build took longer than {seconds} seconds (log: {log})", "Timeout"
    finally:
        await asyncio.to_thread(shutil.rmtree, unpacked, ignore_errors=True)
    record["outputImages"] = [_output(reference, image) for reference in references]
    return "", "Succeeded"


def _context(location: str, registry: str, unpacked: Path, services: Services) -> Path:
    """The folder that is built: of the checkout, or unpacked from what was uploaded. Where nothing is built, a name for it."""
    if services.settings.nothing_runs:
        return Path(location)
    if build_sources.is_uploaded(location):
        return build_sources.unpack(location, registry, unpacked, services.settings.state)
    return build_sources.context_of(location, services.settings)


def _say(log: Path, text: str) -> None:
    """A failure before the build began isn't in its log yet."""
    if not log.exists():
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"{text}\n", encoding="utf-8")


def _reference(registry: str, name: str, run_id: str, where: str) -> ImageReference:
    """An image's name in a run request means this registry. ArmError 400, with a code of ours, for one that is none."""
    login = login_server(registry)
    relative = name.replace(RUN_ID, run_id).removeprefix(f"{login}/")
    problems = image_reference.check(f"{login}/{relative}", f"{where}imageNames")
    parsed = image_reference.parse(f"{login}/{relative}")
    if parsed is None or parsed.digest:
        reason = problems[0].message if problems else "an image that is built has a tag, not a digest"
        raise refused("run: image name", name=name, why=reason, where=where)
    return parsed


def _output(reference: ImageReference, image: Image) -> Body:
    return {
        "registry": reference.registry,
        "repository": reference.repository,
        "tag": reference.tag,
        "digest": image.digest,
    }
