"""The group of workers in TF_CONFIG, and waiting until all of them are running. The format is TensorFlow's (tensorflow.org,
"Distributed training with TensorFlow", section TF_CONFIG):
{"cluster": {"worker": ["host:port", …]}, "task": {"type": "worker", "index": 0}}; a `chief` comes before the others."""

import errno
import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .refusal import ExitCode, RefusedError

VARIABLE = "TF_CONFIG"
CHIEF, WORKER = "chief", "worker"
_ROLES = (CHIEF, WORKER)
_PROBE_SECONDS, _MEET_EVERY = 2.0, 0.3


@dataclass(frozen=True, slots=True)
class Group:
    """`addresses`: all workers, "host:port", in the order of their shares of a batch. `index`: of this worker."""

    addresses: tuple[str, ...] = ("",)
    index: int = 0

    @property
    def size(self) -> int:
        return len(self.addresses)

    @property
    def is_chief(self) -> bool:
        """Whether this is the first worker, which writes the output files."""
        return self.index == 0

    def name(self, index: int) -> str:
        return f"worker {index} ({self.addresses[index]})"

    def unreachable(self) -> list[str]:
        """The names of the other workers that don't accept connections."""
        return [self.name(index) for index in range(self.size) if index != self.index and not self.answers(index)]

    def answers(self, index: int) -> bool:
        host, _, port = self.addresses[index].rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _PROBE_SECONDS).close()
        except OSError:
            return False
        return True


def meet(group: Group, timeout: float) -> None:
    """Returns when every worker of the group is running. TensorFlow's own start waits forever, and can't be interrupted. Until
    then this worker listens on its port. `RefusedError` if it can't, or if other workers are missing after `timeout` seconds."""
    if group.size == 1:
        return
    missing = set(range(group.size)) - {group.index}
    until = time.monotonic() + timeout
    with _listener(group) as listener:
        while missing := {index for index in missing if not group.answers(index)}:
            if time.monotonic() >= until:
                absent = ", ".join(group.name(index) for index in sorted(missing))
                problem = f"the group is incomplete after {timeout:g} s (--group-timeout): nothing listens at {absent}"
                raise RefusedError([problem], ExitCode.LOST)
            time.sleep(_MEET_EVERY)
            with suppress(BlockingIOError):
                while True:  # close the probes of other workers
                    listener.accept()[0].close()


def _listener(group: Group) -> socket.socket:
    host, _, port = group.addresses[group.index].rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    try:
        try:
            listener = socket.create_server((host.strip("[]"), int(port)), family=family)
        except OSError as error:
            if error.errno == errno.EADDRINUSE or isinstance(error, PermissionError):
                raise
            listener = socket.create_server(("", int(port)), family=family)  # the address isn't one of this machine's interfaces
    except OSError as error:
        problem = f"{VARIABLE}: this worker, {group.name(group.index)}, can't listen on its port: {error.strerror or error}"
        raise RefusedError([problem]) from error
    listener.setblocking(False)
    return listener


def read(text: str | None) -> Group:
    """The group of `text`; a group of one if it is None or empty, or has no cluster. `RefusedError` has every problem, each with
    its path in the JSON."""
    if not text or not text.strip():
        return Group()
    try:
        config = json.loads(text)
    except ValueError as error:
        raise RefusedError([f"{VARIABLE}: not JSON: {error}"]) from error
    if not isinstance(config, dict):
        raise RefusedError([f"{VARIABLE}: {_shown(config)}; expected an object with the members cluster and task"])
    cluster, task = config.get("cluster", {}), config.get("task", {})
    if cluster == {} and task == {}:
        return Group()
    problems = list(_cluster_problems(cluster))
    # The task is validated only against valid lists of addresses.
    if isinstance(cluster, dict) and all(isinstance(addresses, list) for addresses in cluster.values()):
        problems += _task_problems(task, cluster)
    if problems:
        raise RefusedError([f"{VARIABLE}: {problem}" for problem in problems])
    role, index = task["type"], task["index"]
    addresses = (*cluster.get(CHIEF, ()), *cluster.get(WORKER, ()))
    return Group(addresses, index if role == CHIEF else len(cluster.get(CHIEF, ())) + index)


def _cluster_problems(cluster: Any) -> Iterator[str]:
    if not isinstance(cluster, dict):
        yield f"cluster: {_shown(cluster)}; expected an object with the member {WORKER}"
        return
    seen: dict[str, str] = {}
    for role, addresses in cluster.items():
        path = f"cluster.{role}"
        if role not in _ROLES:
            yield f"{path}: unknown role; allowed: {WORKER}, {CHIEF}"
        elif not isinstance(addresses, list) or not addresses:
            yield f'{path}: {_shown(addresses)}; expected a list of addresses such as "10.0.0.4:2222"'
        else:
            if role == CHIEF and len(addresses) > 1:
                yield f"{path}: {len(addresses)} addresses; at most one {CHIEF} is allowed"
            for position, address in enumerate(addresses):
                member = f"{path}[{position}]"
                if not _is_address(address):
                    yield f"{member}: {_shown(address)}; expected host:port with a port from 1 to 65535"
                elif seen.setdefault(address, member) != member:
                    yield f"{member}: {address!r} is also the address of {seen[address]}; each worker needs its own"


def _task_problems(task: Any, cluster: dict[str, list]) -> list[str]:
    if not isinstance(task, dict):
        return [f"task: {_shown(task)}; expected an object with the members type and index"]
    role, index = task.get("type"), task.get("index")
    if role not in _ROLES:
        return [f"task.type: {_shown(role)}; allowed: {WORKER}, {CHIEF}"]
    count = len(cluster.get(role, ()))
    if not count:
        return [f"task.type: {role!r}, but cluster has no {role}"]
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
        return [f"task.index: {_shown(index)}; allowed: 0 to {count - 1}, the positions in cluster.{role}"]
    return []


def _is_address(address: Any) -> bool:
    if not isinstance(address, str):
        return False
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        host.encode("idna")  # as Python's sockets do: no empty label, and none of more than 63 characters
        return bool(host) and not {"/", "\0"} & set(host) and port.isdecimal() and 0 < int(port) < 65536
    except ValueError:  # UnicodeError is one, and a number of thousands of digits raises one
        return False


def _shown(value: Any) -> str:
    text = "is missing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:80]}…"
