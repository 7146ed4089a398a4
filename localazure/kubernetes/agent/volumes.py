"""The volumes of a pod, as folders of this machine: made before its containers start, gone with the pod.

Each volume is a folder below the pod's. ConfigMaps, Secrets, tokens and the downward API are files in them; `hostPath` is a
folder of the node's own, which begins empty, and never this machine's. `MountError` is what a pod waits with, in the event
FailedMount. What needs a driver is refused explicitly.
"""

from pathlib import Path
from typing import Any

from localazure.folder import SECRET_MODE
from localazure.kubernetes import infrastructure
from localazure.kubernetes.agent import environment
from localazure.kubernetes.agent.environment import CONFIG_MAP, SECRET, MissingError
from localazure.kubernetes.agent.pod_facts import PodFacts
from localazure.kubernetes.client import KubeError

Body = dict[str, Any]
Files = dict[str, tuple[bytes, int]]  # by path, content and mode
_FILES = ("configMap", "secret", "downwardAPI", "serviceAccountToken", "projected")
_EXPIRATION = 3600
_CHECKED = {"Directory": ("not a directory", Path.is_dir), "File": ("not a file", Path.is_file)}


class MountError(Exception):
    """A volume that can't be made now."""


async def prepare(pod: PodFacts, *, again: bool = False) -> None:
    """Makes what doesn't exist yet, or writes `again` what may have changed. MountError for the first that can't be made."""
    pod.volumes.mkdir(mode=0o700, parents=True, exist_ok=True)
    for volume in pod.body["spec"].get("volumes") or ():
        if again and not any(kind in volume for kind in _FILES):
            continue
        try:
            await _make(volume, pod)
        except (MissingError, KubeError, OSError, ValueError) as error:  # ValueError: a path that no machine can have
            why = error.message if isinstance(error, KubeError) else error.strerror if isinstance(error, OSError) else error
            raise MountError(f'MountVolume.SetUp failed for volume "{volume["name"]}" : {why}') from error


async def _make(volume: Body, pod: PodFacts) -> None:
    target = pod.volumes / volume["name"]
    kind = next((key for key in volume if key != "name"), "emptyDir")
    if kind == "emptyDir":
        target.mkdir(mode=0o777, exist_ok=True)
    elif kind == "hostPath":
        _link(volume["hostPath"]["path"], volume["hostPath"].get("type") or "", target, pod)
    elif kind in _FILES:
        _write(target, await _files(kind, volume[kind], volume[kind].get("defaultMode", 0o644), pod))
    else:
        raise MissingError(f"the embedded Azure does not implement volumes of the kind {kind}")


def _link(path: str, kind: str, target: Path, pod: PodFacts) -> None:
    there = pod.node.host / path.lstrip("/")
    if not there.resolve().is_relative_to(pod.node.host.resolve()):
        raise MissingError(f"hostPath {path} points outside the node")
    # Of a pod of infrastructure images alone paths of the host are there whatever their type.
    if kind in ("", "DirectoryOrCreate") or all(infrastructure.known(one["image"]) for one in pod.specs):
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


async def _files(kind: str, given: Body, mode: int, pod: PodFacts) -> Files:
    """Of a volume, or of a source of a projected one."""
    match kind:
        case "projected":
            files: Files = {}
            for source in given.get("sources") or ():
                one = next((key for key in source if key in _FILES), "")
                if not one:
                    raise MissingError(f"the embedded Azure does not implement the projection {', '.join(source)}")
                files |= await _files(one, source[one], mode, pod)
            return files
        case "serviceAccountToken":
            return {given["path"]: (await _token(given, pod), 0o600 & mode | 0o400)}
        case "downwardAPI":
            return {item["path"]: (_told(item, pod).encode(), item.get("mode") or mode) for item in given.get("items") or ()}
        case _:
            content = await environment.data(pod, CONFIG_MAP if kind == "configMap" else SECRET, given)
            return _chosen(content, given, mode)


def _told(item: Body, pod: PodFacts) -> str:
    if "fieldRef" in item:
        return environment.field(pod, item["fieldRef"]["fieldPath"])
    return environment.resource(pod, item["resourceFieldRef"])


async def _token(given: Body, pod: PodFacts) -> bytes:
    """A token of the pod's service account, bound to the pod."""
    account = pod.body["spec"].get("serviceAccountName") or "default"
    bound = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
    spec: Body = {"expirationSeconds": given.get("expirationSeconds", _EXPIRATION), "boundObjectRef": bound}
    spec["audiences"] = [given["audience"]] if given.get("audience") else []
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    made = await pod.api.create(f"/api/v1/namespaces/{pod.namespace}/serviceaccounts/{account}/token", request)
    return made["status"]["token"].encode()


def _chosen(content: dict[str, bytes], given: Body, mode: int) -> Files:
    items = given.get("items")
    if not items:
        return {key: (text, mode) for key, text in content.items()}
    missing = [item["key"] for item in items if item["key"] not in content]
    if missing and not given.get("optional"):
        raise MissingError(f"references non-existent config key: {missing[0]}")
    return {item["path"]: (content[item["key"]], item.get("mode") or mode) for item in items if item["key"] in content}


def _write(target: Path, files: Files) -> None:
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
