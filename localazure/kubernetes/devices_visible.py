"""Which GPUs a container sees, by `NVIDIA_VISIBLE_DEVICES` as NVIDIA's container runtime reads it.

A container that has neither sees none: unset never means all here, and an image's own `ENV NVIDIA_VISIBLE_DEVICES=all` doesn't
count.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from localazure.containers import machine
from localazure.kubernetes.node_gpus import Instance, NodeGpu

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
