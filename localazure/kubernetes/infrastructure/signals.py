"""Signals between the containers of one pod, as the config manager sends them to the program that it names."""

import contextlib
from collections.abc import Callable, Iterator

from localazure.kubernetes.infrastructure.context import ActorContext

_running: dict[tuple[str, str], list[Callable[[], None]]] = {}  # of this process: pod's uid and program


@contextlib.contextmanager
def taken(context: ActorContext, program: str, reload: Callable[[], None]) -> Iterator[None]:
    """While the program runs, it can be sent SIGHUP."""
    key = (str(context.pod["metadata"]["uid"]), program)
    _running.setdefault(key, []).append(reload)
    try:
        yield
    finally:
        _running[key].remove(reload)
        if not _running[key]:
            del _running[key]


def send(context: ActorContext, program: str) -> bool:
    """Whether such a program runs in the pod."""
    found = _running.get((str(context.pod["metadata"]["uid"]), program), [])
    for reload in list(found):
        reload()
    return bool(found)
