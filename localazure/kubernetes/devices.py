"""The extended resources of one node, as the kubelet's device manager keeps them: who offers them, and which container has which.

Refusals have the kubelet's words. A plugin that is gone leaves its resource in the capacity with nothing allocatable for five
minutes, then both are 0. What containers have is kept on disk, and outlives the agent's process. Behaviour: kubelet v1.36.2,
pkg/kubelet/cm/devicemanager.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from localazure.folder import read_json
from localazure.kubernetes import node_gpus
from localazure.kubernetes.agent import records
from localazure.kubernetes.gpu_programs import Programs
from localazure.kubernetes.node_gpus import StartError, Visible, seen

__all__ = ["NodeDevices", "Plugin", "PluginError", "RefusedError", "StartError"]

STOP_GRACE_SECONDS = 300.0  # types.go, endpointStopGracePeriod
UNEXPECTED = "UnexpectedAdmissionError"
_CHECKPOINT = "devices.json"
_ABOUT_GPUS = ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


class PluginError(Exception):
    """A device plugin refuses an allocation; the text is what it answers."""


class RefusedError(Exception):
    """A pod isn't admitted: it fails with this reason and message."""

    def __init__(self, message: str, reason: str = UNEXPECTED) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Plugin(Protocol):
    """What a device plugin does for the devices that it advertises."""

    def preferred(self, resource: str, available: Sequence[str], size: int) -> Sequence[str]:
        """Which of the available ones are to be taken."""
        ...

    def allocate(self, resource: str, ids: Sequence[str]) -> dict[str, str]:
        """The variables of a container that gets these. PluginError where it can't."""
        ...


class NodeDevices:
    """The devices of one node. `changed` is called whenever its capacity or what is allocatable may differ."""

    def __init__(
        self,
        node: Mapping[str, Any],
        folder: Path,
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.node = node
        self.folder = folder
        self._changed = changed
        self._clock = clock
        self._offered: dict[str, list[str]] = {}
        self._plugins: dict[str, Plugin | None] = {}  # None: it is gone
        self._gone: dict[str, float] = {}  # when
        self._removed: set[str] = set()  # once advertised, and gone for too long
        self._pods: dict[str, dict[str, dict[str, Any]]] = {}  # pod, container, resource: ids and variables
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.programs_of = Programs(folder, lambda: self.node)
        self._read()

    def apply(self, node: Mapping[str, Any]) -> None:
        """Another record of the same node."""
        self.node = node

    @property
    def gpus(self) -> list[node_gpus.NodeGpu]:
        return node_gpus.gpus(self.node)

    # For device plugins

    def advertise(self, resource: str, ids: Iterable[str], plugin: Plugin) -> None:
        """The plugin offers exactly these devices under this name, all of them healthy."""
        self._offered[resource] = list(ids)
        self._plugins[resource] = plugin
        self._gone.pop(resource, None)
        self._removed.discard(resource)
        self._save()
        self._changed()

    def withdraw(self, resource: str, plugin: Plugin | None = None) -> None:
        """The plugin has stopped. Containers keep what they have. Of `plugin`, if given, and of no other that has taken over."""
        if self._plugins.get(resource) is None or (plugin is not None and self._plugins[resource] is not plugin):
            return
        self._plugins[resource] = None
        self._gone[resource] = self._clock()
        self._later()
        self._save()
        self._changed()

    # For the node's status

    def capacity(self) -> dict[str, int]:
        self._expire()
        return {**dict.fromkeys(self._removed, 0), **{name: len(ids) for name, ids in self._offered.items()}}

    def allocatable(self) -> dict[str, int]:
        self._expire()
        healthy = {name: len(ids) if self._plugins.get(name) else 0 for name, ids in self._offered.items()}
        return {**dict.fromkeys(self._removed, 0), **healthy}

    # For pods

    def allocate(self, pod_uid: str, container: str, requests: Mapping[str, int], reusable: Sequence[str] = ()) -> None:
        """Gives the container its devices. RefusedError in the kubelet's words.

        `reusable`: init containers of the pod, whose devices may be taken over.
        """
        requested = {
            name: number for name, number in requests.items() if number and (name in self._offered or name in self._removed)
        }
        for resource, number in requested.items():
            try:
                self._give(pod_uid, container, resource, number, reusable)
            except (LookupError, PluginError) as error:
                why = f"rpc error: code = Unknown desc = {error}" if isinstance(error, PluginError) else error.args[0]
                raise RefusedError(f"Allocate failed due to {why}, which is unexpected") from error
        if requested:
            self._save()

    def _give(self, pod_uid: str, container: str, resource: str, number: int, reusable: Sequence[str]) -> None:
        own = self._pods.get(pod_uid, {})
        before = own.get(container, {}).get(resource)
        needed = number - (len(before["ids"]) if before else 0)
        if before and needed:
            changed = f"changed request for resource {_quoted(resource)} from {len(before['ids'])} to {number}"
            raise LookupError(f"pod {_quoted(pod_uid)} container {_quoted(container)} {changed}")
        if resource not in self._offered:
            raise LookupError(f"cannot allocate unregistered device {resource}")
        plugin = self._plugins.get(resource)
        if plugin is None or not self._offered[resource]:
            raise LookupError(f"no healthy devices present; cannot allocate unhealthy devices {resource}")
        if before and not set(before["ids"]) <= set(self._offered[resource]):
            why = f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {resource}"
            raise LookupError(why)
        if not needed:
            return
        taken_over = [
            one
            for name in reusable
            for one in own.get(name, {}).get(resource, {"ids": []})["ids"]
            if one in self._offered[resource]
        ][:needed]
        used = self._used(resource)
        available = [one for one in self._offered[resource] if one not in used]
        missing = needed - len(taken_over)
        if missing > len(available):
            why = f"requested number of devices unavailable for {resource}. Requested: {missing}, Available: {len(available)}"
            raise LookupError(why)
        ids = [*taken_over, *(plugin.preferred(resource, available, missing) if missing else ())]
        env = plugin.allocate(resource, ids)
        self._pods.setdefault(pod_uid, {}).setdefault(container, {})[resource] = {"ids": ids, "env": env}

    def release(self, pod_uid: str) -> None:
        """The pod has ended: its devices are free."""
        had = self._pods.pop(pod_uid, None)
        self.programs_of.forget(pod_uid)
        if had is not None:
            self._save()

    def held(self, pod_uid: str, container: str) -> dict[str, list[str]]:
        """The ids of the devices that a container has, by resource."""
        return {name: list(one["ids"]) for name, one in self._pods.get(pod_uid, {}).get(container, {}).items()}

    # For containers

    def environment(
        self, pod_uid: str, container: str, given: Mapping[str, str], host_pid: bool = False, pod: str = ""
    ) -> dict[str, str]:
        """The variables about GPUs, over all others. StartError where the container names a device that doesn't exist.

        `given`: the pod's own variables, which win over a plugin's, as the kubelet has them last. `pod`: namespace and name.
        """
        allocated: dict[str, str] = {}
        for one in self._pods.get(pod_uid, {}).get(container, {}).values():
            allocated |= one["env"]
        visible = self.visible(pod_uid, container, given)
        self.programs_of.note(pod_uid, container, visible, host_pid=host_pid, pod=pod)
        kept = {name: value for name, value in allocated.items() if name not in given and name not in _ABOUT_GPUS}
        return {**kept, **visible.variables(given)}

    def visible(self, pod_uid: str, container: str, given: Mapping[str, str]) -> Visible:
        """Which GPUs the container sees."""
        allocated = [
            one["env"]["NVIDIA_VISIBLE_DEVICES"]
            for one in self._pods.get(pod_uid, {}).get(container, {}).values()
            if "NVIDIA_VISIBLE_DEVICES" in one["env"]
        ]
        return seen(given.get("NVIDIA_VISIBLE_DEVICES"), ",".join(allocated) or None, self.gpus)

    def programs(self, pod_uid: str, container: str) -> Path | None:
        """The folder with `nvidia-smi` that stands first on the container's PATH; None where the container sees no driver."""
        return self.programs_of.folder_of(pod_uid, container)

    # Its own

    def _used(self, resource: str) -> set[str]:
        return {
            one
            for containers in self._pods.values()
            for resources in containers.values()
            for one in resources.get(resource, {"ids": []})["ids"]
        }

    def _expire(self) -> None:
        for resource, since in list(self._gone.items()):
            if self._clock() - since >= STOP_GRACE_SECONDS:
                del self._gone[resource], self._offered[resource], self._plugins[resource]
                self._removed.add(resource)
                self._save()

    def _later(self) -> None:
        """Looks again when the grace period of what has gone is over."""
        try:
            asyncio.get_running_loop().call_later(STOP_GRACE_SECONDS + 1, self._changed)
        except RuntimeError:
            return  # outside a loop, nobody waits

    def _read(self) -> None:
        """As the kubelet starts: what was registered is known, with no device until its plugin is back."""
        kept = read_json(self.folder / _CHECKPOINT) or {}
        self._offered = {name: [] for name in kept.get("registered", [])}
        self._plugins = dict.fromkeys(self._offered)
        self._gone = dict.fromkeys(self._offered, self._clock())
        self._removed = set(kept.get("removed", []))
        self._pods = kept.get("pods", {})
        if self._offered:
            self._later()

    def _save(self) -> None:
        content = {"registered": sorted(self._offered), "removed": sorted(self._removed), "pods": self._pods}
        records.write(self.folder / _CHECKPOINT, content)


def _quoted(text: str) -> str:
    return f'"{text}"'
