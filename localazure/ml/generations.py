"""The generations of a deployment's instances: the one that serves and, during an update, the next one.

A generation is remembered before anything of it starts, in a document of the store, so that a server that comes after a kill
finds it. In: a `Plan`. Out: containers of this machine, each instance with ports of its own.
"""

import hashlib
import json
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localazure.containers import container_spec
from localazure.containers.container_spec import ContainerSpec, Http
from localazure.containers.volumes import Mount, Volume, Volumes
from localazure.ml import network
from localazure.ml.images import CODE, Served
from localazure.ml.settings import Probe

Body = dict[str, Any]

BACKOFF_SECONDS = 1.0  # before the first restart of a process that ended; Kubernetes, and so the service, waits ten times as long
BACKOFF_MOST_SECONDS = 60.0
_STOP_SECONDS = 1.0  # between asking a server to end, which has answered all its requests by then, and killing it; assumed
MODELS = "/var/azureml-app/azureml-models"


@dataclass(slots=True, kw_only=True)
class Plan:
    """What every instance of a generation is."""

    served: Served
    variables: Mapping[str, str]  # the deployment's own
    model_path: str  # in the container; "" without a model
    liveness: Probe
    gpus: int
    sources: Mapping[str, str]  # which model and code: a generation with others is another one

    def fingerprint(self) -> str:
        """What two generations that differ in nothing have in common."""
        served = self.served
        content = [
            served.image.digest, served.command, dict(served.variables), served.score, served.liveness, served.readiness,
            dict(self.variables), self.model_path, self.liveness, self.gpus, dict(self.sources),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(slots=True)
class Generation:
    """One generation, as it is remembered."""

    id: str
    deployment: str  # the deployment's key
    fingerprint: str
    score: list[Any]  # port as the container knows it, and path
    readiness: list[Any]
    ports: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])  # by instance, by the container's port

    @property
    def group(self) -> str:
        """The runtime's key for its containers."""
        return f"{self.deployment}/{self.id}"

    def scale(self, count: int, ports: tuple[int, ...]) -> None:
        """So many instances; those that stay keep their ports."""
        names = [f"instance-{number}" for number in range(1, count + 1)]
        kept = {name: self.ports[name] for name in names if name in self.ports}
        self.ports = {name: kept.get(name) or {str(port): free_port() for port in ports} for name in names}

    def document(self) -> Body:
        return {name: getattr(self, name) for name in self.__slots__}


def new(deployment: str, plan: Plan) -> Generation:
    return Generation(uuid.uuid4().hex[:12], deployment, plan.fingerprint(), list(plan.served.score), list(plan.served.readiness))


def free_port() -> int:
    """A port of loopback that nobody listens at."""
    with socket.socket() as probing:
        probing.bind(("127.0.0.1", 0))
        return int(probing.getsockname()[1])


def containers(generation: Generation, plan: Plan, folder: Path) -> tuple[list[ContainerSpec], Volumes]:
    """Its instances as containers of this machine. `folder`: where its model and code lie."""
    for name in ("model", "code"):
        (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    volumes = tuple(Volume(name=name, shared=folder / name) for name in ("model", "code"))
    return [_spec(generation, plan, name) for name in generation.ports], Volumes(run=generation.id, volumes=volumes)


def _spec(generation: Generation, plan: Plan, instance: str) -> ContainerSpec:
    served, ports = plan.served, generation.ports[instance]
    program = served.command or (*served.image.entrypoint, *served.image.cmd)
    led = {str(number): str(port) for number, port in ports.items()}
    first = str(ports[str(served.score.port)])
    given = {**served.image.env, **served.variables, **plan.variables}
    path = [network.python_path(), *filter(None, [given.get("PYTHONPATH", "")])]
    variables = {
        **{name: led.get(value, value) for name, value in given.items()},
        **({"AZUREML_MODEL_DIR": plan.model_path} if plan.model_path else {}),
        **{f"PORT_{number}": str(port) for number, port in ports.items()},
        "PORT": first,
        "HOST": "127.0.0.1",
        "HOSTNAME": f"{instance}-{generation.id}",
        "PYTHONPATH": ":".join(path),
        "PYTHONUNBUFFERED": "1",
    }
    liveness = plan.liveness
    probe = container_spec.Probe(
        http=Http(port=ports[str(served.liveness.port)], path=served.liveness.path),
        initial_delay_seconds=liveness.initial_delay,
        period_seconds=liveness.period,
        timeout_seconds=liveness.timeout,
        failure_threshold=liveness.failure_threshold,
    )
    return ContainerSpec(
        name=instance,
        image=served.image,
        command=tuple(led.get(word, word) for word in program),
        env=variables,
        gpu_count=plan.gpus,
        run=generation.id,
        mounts=(*((Mount("model", plan.model_path),) if plan.model_path else ()), Mount("code", CODE)),
        probes={"liveness": probe},
        stop_seconds=_STOP_SECONDS,
        backoff_seconds=BACKOFF_SECONDS,
        backoff_most_seconds=BACKOFF_MOST_SECONDS,
    )
