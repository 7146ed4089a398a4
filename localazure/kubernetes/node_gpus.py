"""The GPUs of one node as its driver reports them, and which of them a container sees.

GPUs are in the order of their indices; there are none without a GPU or a driver. The same node always has the same ids, which are
made of its name. A container sees what `NVIDIA_VISIBLE_DEVICES` says, as NVIDIA's container runtime reads it; one that has
neither sees none: unset never means all here, and an image's own `ENV NVIDIA_VISIBLE_DEVICES=all` doesn't count.
"""

import functools
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from localazure.containers import machine

_NAMESPACE = uuid.UUID("7a1f2a52-7e2b-5d0c-9a53-0f7c3b8f7d10")  # of the ids below; chosen once
_INSTANCE_SHARE = 0.95  # of the memory in a profile's name, that an instance can use: 9728 MiB of 1g.10gb


class Card(NamedTuple):
    """What nvidia-smi says of a model."""

    name: str
    memory_mib: int
    watts: int  # the power limit
    memory_mhz: int = 0  # the highest clock of the memory; 0: no listing was read


@functools.cache
def _cards() -> dict[tuple[str, int], Card]:
    """By the catalog's name and GiB; names and MiB as nvidia-smi prints them, seen in users' listings.

    Clocks: NVIDIA/nvidia-docker issues 1628 (T4) and 914 (V100), ggml-org/llama.cpp issue 4747 (A100).
    """
    lines = Path(__file__).with_name("cards.csv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split(",") for line in lines]
    return {(gpu, int(gib)): Card(name, *map(int, numbers)) for gpu, gib, name, *numbers in rows}


class Instance(NamedTuple):
    """A MIG instance of a GPU."""

    number: int  # among the GPU's instances, from 0
    uuid: str  # MIG-...
    profile: str  # 1g.10gb
    memory_mib: int


class NodeGpu(NamedTuple):
    """One GPU of a node."""

    number: int  # among the node's, from 0
    uuid: str  # GPU-...
    name: str
    memory_mib: int
    watts: int
    compute_capability: str
    instances: tuple[Instance, ...] = ()  # cut by MIG; then programs run on these alone
    mig_capable: bool = False
    memory_mhz: int = 0  # 0: not known


def gpus(node: Mapping[str, Any]) -> list[NodeGpu]:
    """The NVIDIA GPUs that the node's driver sees."""
    if not node.get("driver") or node.get("gpu_vendor", "nvidia") != "nvidia":
        return []
    card = _card(node)
    return [
        NodeGpu(
            number=number,
            uuid=f"GPU-{_id(node, number)}",
            name=card.name,
            memory_mib=card.memory_mib,
            watts=card.watts,
            compute_capability=str(node.get("compute_capability") or ""),
            instances=_instances(node, number),
            mig_capable=bool(node.get("mig_capable")),
            memory_mhz=card.memory_mhz,
        )
        for number in range(int(node.get("gpus") or 0))
    ]


def _card(node: Mapping[str, Any]) -> Card:
    name, memory = str(node.get("gpu_name") or ""), int(node.get("gpu_memory_gib") or 0)
    return _cards().get((name, memory)) or Card(str(node.get("gpu_model") or name), memory * 1024, 300)


def _instances(node: Mapping[str, Any], index: int) -> tuple[Instance, ...]:
    mig = node.get("mig") or {}
    memory = int(float(mig.get("memory_gib") or 0) * 1024 * _INSTANCE_SHARE)
    return tuple(
        Instance(number, f"MIG-{_id(node, f'{index}:{number}')}", str(mig["profile"]), memory)
        for number in range(int(mig.get("instances") or 0))
    )


def _id(node: Mapping[str, Any], what: object) -> uuid.UUID:
    return uuid.uuid5(_NAMESPACE, f"{node['name']}/{node.get('created', '')}/{what}")


VOID = "void"
_NONE = ("", VOID, "none")


class StartError(Exception):
    """The container can't be started; the text is what the runtime says."""


class Visible(NamedTuple):
    """What a container sees of its node's GPUs."""

    value: str  # of NVIDIA_VISIBLE_DEVICES
    gpus: tuple[NodeGpu, ...] = ()
    instances: tuple[Instance, ...] = ()  # of those that MIG has cut, these alone; empty for whole GPUs

    @property
    def ids(self) -> list[str]:
        """The ids of what programs run on: MIG instances, or GPUs."""
        return [one.uuid for one in self.instances or self.gpus]

    def variables(self, given: Mapping[str, str]) -> dict[str, str]:
        """Both variables. The second leads to this machine's own GPUs, where it has any."""
        own = {"NVIDIA_VISIBLE_DEVICES": self.value}
        if not self.gpus:
            return {**own, "CUDA_VISIBLE_DEVICES": ""}
        of_machine = machine.gpu_count()
        if of_machine:
            chosen = sorted({gpu.number % of_machine for gpu in self.gpus})
            return {**own, "CUDA_VISIBLE_DEVICES": ",".join(str(number) for number in _of(chosen, given))}
        return own


def _of(chosen: list[int], given: Mapping[str, str]) -> list[int]:
    """Those of the visible GPUs that the container's own CUDA_VISIBLE_DEVICES leaves; it counts from the first visible one."""
    said = given.get("CUDA_VISIBLE_DEVICES")
    if said is None:
        return chosen
    return [chosen[int(one)] for one in said.split(",") if one.strip().isdigit() and int(one) < len(chosen)]


def seen(requested: str | None, allocated: str | None, gpus: Sequence[NodeGpu]) -> Visible:
    """What a container sees: `asked` by its own variable, else what was `allocated`, else nothing."""
    value = requested if requested is not None else allocated
    if value is None or value.strip().lower() in _NONE or not gpus:
        return Visible(VOID if value is None else value)  # as said, also where nothing reads it
    if value.strip().lower() == "all":
        return Visible(value, tuple(gpus), tuple(one for gpu in gpus for one in gpu.instances))
    chosen: list[NodeGpu] = []
    instances: list[Instance] = []
    for word in (one.strip() for one in value.split(",")):
        gpu, instance = _find(word, gpus)
        if gpu not in chosen:
            chosen.append(gpu)
        if instance is not None:
            instances.append(instance)
    return Visible(value, tuple(sorted(chosen)), tuple(instances))


def _find(word: str, gpus: Sequence[NodeGpu]) -> tuple[NodeGpu, Instance | None]:
    for gpu in gpus:
        if word in (str(gpu.number), gpu.uuid):
            return gpu, None
        for instance in gpu.instances:
            if word in (instance.uuid, f"{gpu.number}:{instance.number}"):
                return gpu, instance
    raise StartError(
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to "
        "start container process: error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: "
        f"Auto-detected mode as 'legacy'\nnvidia-container-cli: device error: {word}: unknown device: unknown"
    )
