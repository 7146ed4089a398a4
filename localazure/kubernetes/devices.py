"""The extended resources of one node, as the kubelet's device manager keeps them: what is offered, and which container has which.

Refusals have the kubelet's words. A plugin that is gone leaves its resource in the capacity with nothing allocatable. What
containers have is kept on disk, and outlives the agent's process. Behaviour: kubelet v1.36.2, pkg/kubelet/cm/devicemanager.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from localazure.folder import read_json, write_json
from localazure.kubernetes import node_gpus
from localazure.kubernetes.gpu_programs import Programs
from localazure.kubernetes.node_gpus import Visible, seen

REPLICA = "::"  # between a device's id and the number of its replica
_CHECKPOINT = "devices.json"
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"


class RefusedError(Exception):
    """A pod isn't admitted: it fails with this message."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.message = f"Allocate failed due to {why}, which is unexpected"


class Offer(NamedTuple):
    """The devices that a plugin offers under one name, all of them healthy."""

    ids: Sequence[str] = ()
    one_replica: bool = False  # is all that a container may have
    names: Mapping[str, str] = {}  # by device, what containers are told; nothing: its id


def device_of(device_id: str) -> str:
    """The GPU or instance of a replica, or itself."""
    return device_id.partition(REPLICA)[0]


class NodeDevices:
    """The devices of one node. `changed` is called whenever its capacity or what is allocatable may differ."""

    def __init__(self, node: Mapping[str, Any], folder: Path, changed: Callable[[], None]) -> None:
        self.node = node
        self._changed = changed
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.programs_of = Programs(folder, lambda: self.node)
        self._file = folder / _CHECKPOINT
        kept = read_json(self._file) or {}
        # As the kubelet starts: what was registered is known, with no device until its plugin is back.
        self._offered = {name: Offer() for name in kept.get("registered", [])}
        self._gone = set(self._offered)
        self._pods: dict[str, dict[str, dict[str, Any]]] = kept.get("pods", {})  # pod, container, resource: ids and variables

    @property
    def gpus(self) -> list[node_gpus.NodeGpu]:
        return node_gpus.gpus(self.node)

    # For device plugins

    def advertise(self, offers: Mapping[str, Offer]) -> None:
        self._offered |= offers
        self._gone -= set(offers)
        self._save()
        self._changed()

    def withdraw(self, offers: Mapping[str, Offer]) -> None:
        """The plugin has stopped. Containers keep what they have, and so does a plugin that has taken over."""
        self._gone |= {name for name, offer in offers.items() if self._offered.get(name) is offer}
        self._changed()

    # For the node's status

    def capacity(self) -> dict[str, int]:
        return {name: len(offer.ids) for name, offer in self._offered.items()}

    def allocatable(self) -> dict[str, int]:
        return self.capacity() | dict.fromkeys(self._gone, 0)

    # For pods

    def allocate(self, pod_uid: str, container: str, requests: Mapping[str, int], reusable: Sequence[str] = ()) -> None:
        """Gives the container its devices. RefusedError in the kubelet's words.

        `reusable`: init containers of the pod, whose devices may be taken over.
        """
        own = self._pods.get(pod_uid, {})
        had = own.get(container, {})  # an agent that was killed as it admitted the pod
        requested = {name: number for name, number in requests.items() if number and name in self._offered and name not in had}
        for resource, number in requested.items():
            left = [one for name in reusable for one in own.get(name, {}).get(resource, {"ids": []})["ids"]]
            given = self._give(resource, number, left)
            self._pods.setdefault(pod_uid, {}).setdefault(container, {})[resource] = given
        if requested:
            self._save()

    def _give(self, resource: str, number: int, left: Iterable[str]) -> dict[str, Any]:
        offer = self._offered[resource]
        if resource in self._gone or not offer.ids:
            raise RefusedError(f"no healthy devices present; cannot allocate unhealthy devices {resource}")
        taken_over = [one for one in left if one in offer.ids][:number]
        missing = number - len(taken_over)
        used = {
            one
            for containers in self._pods.values()
            for resources in containers.values()
            for one in resources.get(resource, {"ids": []})["ids"]
        }
        available = [one for one in offer.ids if one not in used]
        if missing > len(available):
            requested = f"Requested: {missing}, Available: {len(available)}"
            raise RefusedError(f"requested number of devices unavailable for {resource}. {requested}")
        if offer.one_replica and number > 1:
            why = f"maximum request size for shared resources is 1; found {number}"
            invalid = f'invalid allocation request for "{resource}": invalid request: {why}'
            raise RefusedError(f"rpc error: code = Unknown desc = {invalid}")
        ids = [*taken_over, *spread(available, offer.ids, missing)]
        visible = [offer.names.get(one, one) for one in dict.fromkeys(device_of(one) for one in ids)]
        return {"ids": ids, "env": {_VISIBLE: ",".join(visible)}}

    def release(self, pod_uid: str) -> None:
        """The pod has ended: its devices are free."""
        had = self._pods.pop(pod_uid, None)
        self.programs_of.forget(pod_uid)
        if had is not None:
            self._save()

    # For containers

    def environment(
        self, pod_uid: str, container: str, given: Mapping[str, str], host_pid: bool = False, pod: str = ""
    ) -> dict[str, str]:
        """The variables about GPUs, over all others. StartError where the container names a device that doesn't exist.

        `given`: the pod's own variables, which win over a plugin's, as the kubelet has them last. `pod`: namespace and name.
        """
        visible = self.visible(pod_uid, container, given)
        self.programs_of.note(pod_uid, container, visible, host_pid=host_pid, pod=pod)
        return visible.variables(given)

    def visible(self, pod_uid: str, container: str, given: Mapping[str, str]) -> Visible:
        """Which GPUs the container sees."""
        allocated = [one["env"][_VISIBLE] for one in self._pods.get(pod_uid, {}).get(container, {}).values()]
        return seen(given.get(_VISIBLE), ",".join(allocated) or None, self.gpus)

    def programs(self, pod_uid: str, container: str) -> Path | None:
        """The folder with `nvidia-smi` that stands first on the container's PATH; None where the container sees no driver."""
        return self.programs_of.folder_of(pod_uid, container)

    def _save(self) -> None:
        write_json(self._file, {"registered": sorted(self._offered), "pods": self._pods}, durable=False)


def spread(available: Sequence[str], offered: Sequence[str], size: int) -> list[str]:
    """`size` of those that are free, each from the device of which the fewest are taken."""
    free: dict[str, list[str]] = {}
    for one in available:
        free.setdefault(device_of(one), []).append(one)
    taken = {device: sum(1 for one in offered if device_of(one) == device) - len(free[device]) for device in free}
    chosen: list[str] = []
    for _ in range(size):
        device = min((one for one in free if free[one]), key=lambda one: taken[one])
        chosen.append(free[device].pop(0))
        taken[device] += 1
    return chosen
