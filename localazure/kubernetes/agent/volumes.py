"""The volumes of a pod, as folders of this machine: made before its containers start, gone with the pod.

Each volume is a folder below the pod's. ConfigMaps, Secrets, tokens and the downward API are files in them; `hostPath` is a
folder of the node's own, which begins empty, and never this machine's. `MountError` is what a pod waits with, in the event
FailedMount. What needs a driver is refused explicitly.
"""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

from localazure.folder import SECRET_MODE
from localazure.kubernetes.agent import environment
from localazure.kubernetes.agent.environment import MissingError, PodContext, Sources
from localazure.kubernetes.client import KubeApi, KubeError

Body = dict[str, Any]
_EXPIRATION = 3600
_CHECKED = {"Directory": ("not a directory", Path.is_dir), "File": ("not a file", Path.is_file)}


class MountError(Exception):
    """A volume that can't be made now."""


class VolumeContext(NamedTuple):
    """What the volumes of one pod are made with."""

    api: KubeApi
    sources: Sources
    pod: PodContext
    host: Path  # the node's own disk
    folder: Path  # of the pod's volumes
    lenient: bool  # the pod is of infrastructure images alone: paths of the host are there whatever their type


async def prepare(pod: Body, context: VolumeContext) -> None:
    """Makes what doesn't exist yet. MountError for the first volume that can't be made."""
    context.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for volume in pod["spec"].get("volumes") or ():
        name = volume["name"]
        try:
            await _make(volume, pod, context)
        except (MissingError, environment.FieldError) as error:
            raise MountError(f'MountVolume.SetUp failed for volume "{name}" : {error}') from error
        except KubeError as error:
            raise MountError(f'MountVolume.SetUp failed for volume "{name}" : {error.message}') from error
        except OSError as error:
            raise MountError(f'MountVolume.SetUp failed for volume "{name}" : {error.strerror}') from error
        except ValueError as error:  # a path that no machine can have
            raise MountError(f'MountVolume.SetUp failed for volume "{name}" : {error}') from error


async def refresh(pod: Body, context: VolumeContext) -> None:
    """Writes again what may have changed since: ConfigMaps, Secrets, tokens."""
    for volume in pod["spec"].get("volumes") or ():
        if any(kind in volume for kind in _FILES):
            await _make(volume, pod, context)


async def _make(volume: Body, pod: Body, context: VolumeContext) -> None:
    target = context.folder / volume["name"]
    if "emptyDir" in volume:
        target.mkdir(mode=0o777, exist_ok=True)
    elif "hostPath" in volume:
        _link(volume, target, context)
    elif any(kind in volume for kind in _FILES):
        files = await _files_of(volume, pod, context)
        _write(target, files)
    else:
        kind = next((key for key in volume if key != "name"), "emptyDir")
        if kind == "emptyDir":
            target.mkdir(mode=0o777, exist_ok=True)
            return
        raise MissingError(f"the embedded Azure does not implement volumes of the kind {kind}")


def _link(volume: Body, target: Path, context: VolumeContext) -> None:
    path, kind = volume["hostPath"]["path"], volume["hostPath"].get("type") or ""
    there = context.host / path.lstrip("/")
    if not there.resolve().is_relative_to(context.host.resolve()):
        raise MissingError(f"hostPath {path} points outside the node")
    if kind in ("", "DirectoryOrCreate") or context.lenient:
        if not there.exists():
            there.mkdir(mode=0o755, parents=True, exist_ok=True)
    elif kind == "FileOrCreate":
        there.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        there.touch()
    else:
        what, check = _CHECKED.get(kind, (f"not a {kind.lower()} file", lambda _: False))
        if not check(there):
            raise MissingError(f"hostPath type check failed: {path} is {what}")
    if not target.is_symlink():
        target.symlink_to(there)


async def _files_of(volume: Body, pod: Body, context: VolumeContext) -> dict[str, tuple[bytes, int]]:
    kind = next(key for key in volume if key in _FILES)
    if kind == "projected":
        mode = volume["projected"].get("defaultMode", 0o644)
        files: dict[str, tuple[bytes, int]] = {}
        for source in volume["projected"].get("sources") or ():
            one = next((key for key in source if key in _FILES), "")
            if not one:
                raise MissingError(f"the embedded Azure does not implement the projection {', '.join(source)}")
            files |= await _FILES[one](source[one], source[one].get("name", ""), mode, pod, context)
        return files
    given = volume[kind]
    return await _FILES[kind](
        given, given.get("secretName") or given.get("name", ""), given.get("defaultMode", 0o644), pod, context
    )


async def _of_config_map(given: Body, name: str, mode: int, _: Body, context: VolumeContext) -> dict[str, tuple[bytes, int]]:
    optional = bool(given.get("optional"))
    content = await context.sources.config_map(name, optional=optional)
    return _chosen(content or {}, given, mode, optional=optional)


async def _of_secret(given: Body, name: str, mode: int, _: Body, context: VolumeContext) -> dict[str, tuple[bytes, int]]:
    optional = bool(given.get("optional"))
    content = await context.sources.secret(name, optional=optional)
    return _chosen(content or {}, given, mode, optional=optional)


async def _of_token(given: Body, _: str, mode: int, pod: Body, context: VolumeContext) -> dict[str, tuple[bytes, int]]:
    """A token of the pod's service account, bound to the pod."""
    metadata, account = pod["metadata"], pod["spec"].get("serviceAccountName") or "default"
    bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    spec: Body = {"expirationSeconds": given.get("expirationSeconds", _EXPIRATION), "boundObjectRef": bound}
    spec["audiences"] = [given["audience"]] if given.get("audience") else []
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    made = await context.api.create(f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token", request)
    return {given["path"]: (made["status"]["token"].encode(), 0o600 & mode | 0o400)}


async def _of_pod(given: Body, _: str, mode: int, pod: Body, context: VolumeContext) -> dict[str, tuple[bytes, int]]:
    pod_context = context.pod
    files: dict[str, tuple[bytes, int]] = {}
    for item in given.get("items") or ():
        if "fieldRef" in item:
            text = environment.field(pod, item["fieldRef"]["fieldPath"], pod_context.host_ip, pod_context.pod_ip)
        else:
            text = environment.resource(pod, item["resourceFieldRef"], None, pod_context.allocatable)
        files[item["path"]] = (text.encode(), item.get("mode") or mode)
    return files


_FILES = {
    "configMap": _of_config_map,
    "secret": _of_secret,
    "downwardAPI": _of_pod,
    "serviceAccountToken": _of_token,
    "projected": _of_config_map,  # never called: it is made of the others
}


def _chosen(content: dict[str, bytes], given: Body, mode: int, *, optional: bool) -> dict[str, tuple[bytes, int]]:
    items = given.get("items")
    if not items:
        return {key: (text, mode) for key, text in content.items()}
    missing = [item["key"] for item in items if item["key"] not in content]
    if missing and not optional:
        raise MissingError(f"references non-existent config key: {missing[0]}")
    return {item["path"]: (content[item["key"]], item.get("mode") or mode) for item in items if item["key"] in content}


def _write(target: Path, files: dict[str, tuple[bytes, int]]) -> None:
    """Each file is replaced whole; what isn't named any more goes."""
    target.mkdir(mode=0o755, exist_ok=True)
    for path, (content, mode) in files.items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        half = file.with_name(f".{file.name}.half")
        half.touch(mode=SECRET_MODE)
        half.write_bytes(content)
        half.chmod(mode & 0o777)
        half.replace(file)
    for old in sorted(target.rglob("*"), reverse=True):
        if not old.is_dir() and str(old.relative_to(target)) not in files:
            old.unlink(missing_ok=True)


def remove(folder: Path) -> None:
    """Links lead to what isn't the pod's."""
    shutil.rmtree(folder, ignore_errors=True)
