"""A Python that has everything loaded and forks for each command: what the engine starts costs a third of a start of Python.

In: a socket's path as argument, and folders of modules, where these are the tests' own. Each connection sends a command's words,
folder and environment with its three standard files, then numbers of signals, and gets the exit status. The process ends with its
standard input; a command with its connection.
"""

import atexit
import gc
import marshal
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import get_args

import pulumi

# What the program loads, beside azure-native's modules.
PROGRAM = (
    "azure_gpu.aks.cluster",
    "azure_gpu.batch.pool.pool",
    "azure_gpu.container_apps.job.job",
    "azure_gpu.container_instances.group",
    "azure_gpu.edge.sharing",
    "azure_gpu.images.gallery_image",
    "azure_gpu.ml.endpoint.endpoint",
    "azure_gpu.stack.plan",
    "azure_gpu.vm.vm",
    "grpc._channel",
    "pulumi_kubernetes.core.v1",
)
# What the provider plugins and `operations` load, which the environment of the tests has.
OTHERS = (
    "azure.batch.models",
    "azure.identity",
    "azure.mgmt.appcontainers",
    "azure_gpu_operations.commands",
    "azure_gpu_operations.explain.command",
    "azure_gpu_operations.stack_verbs",
    "grpc._server",
    "kubernetes",
    "localazure.kubernetes_plugin.__main__",
    "localazure.plugin.resources",
    "localazure.plugin.servicer",
    "msal_extensions",
    "tests.upgrades.program",
)
OURS = {"azure_gpu", "azure_gpu_operations", "localazure", "operations", "tests"}
PIP = ["-m", "pip", "list"]

Command = tuple[list[str], str, dict[str, str]]


class Server:
    """Waits for commands, and for those that run."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._running: dict[int, socket.socket] = {}  # process → who waits for it
        self._lists: dict[str, bytes] = {}  # PYTHONPATH → what `pip list` says; the environment stays as it is
        self._ended, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def next(self) -> Command | None:
        """In a process of its own each: a command to become. None in the server, when its standard input has ended."""
        while True:
            asking = {each.fileno(): process for process, each in self._running.items() if each.fileno() >= 0}
            waited = [self._listening.fileno(), self._ended, 0, *asking]
            ready = select.select(waited, [], [])[0]
            if 0 in ready:
                for process in self._running:
                    os.kill(process, signal.SIGKILL)
                return None
            for number, process in asking.items():
                if number in ready:
                    self._signal(process, self._running[process])
            if self._ended in ready:
                os.read(self._ended, 4096)
                self._reap()
            if self._listening.fileno() in ready and (command := self._accept()):
                return command

    def _accept(self) -> Command | None:
        connection = self._listening.accept()[0]
        text, files, *_ = socket.recv_fds(connection, 8, 3)
        if len(text) == 8:
            size = int.from_bytes(text, "little")
            text = b""
            while len(text) < size and (more := connection.recv(size - len(text))):
                text += more
            command: Command = marshal.loads(text)
            if command[0][: len(PIP)] == PIP:
                self._list(command, connection, files[1])
            elif (process := os.fork()) == 0:
                self._become(connection, files)
                return command
            else:
                self._running[process] = connection
        for number in files:
            os.close(number)
        return None

    def _become(self, connection: socket.socket, files: list[int]) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in (self._listening, connection, *self._running.values()):
            each.close()
        os.close(self._ended)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)

    def _list(self, command: Command, connection: socket.socket, output: int) -> None:
        words, folder, environment = command
        key = environment.get("PYTHONPATH", "")
        if key not in self._lists:
            self._lists[key] = subprocess.run([sys.executable, *words], cwd=folder, env=environment, stdout=-1, check=True).stdout
        with os.fdopen(os.dup(output), "wb") as file:
            file.write(self._lists[key])
        self._answer(connection, 0)

    def _signal(self, process: int, connection: socket.socket) -> None:
        number = connection.recv(1)
        os.kill(process, number[0] if number else signal.SIGKILL)
        if not number:  # nobody waits for it any more
            connection.close()

    def _reap(self) -> None:
        while self._running:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                return
            self._answer(self._running.pop(process), os.waitstatus_to_exitcode(status))

    @staticmethod
    def _answer(connection: socket.socket, status: int) -> None:
        with connection:
            if connection.fileno() >= 0:
                with suppress(OSError):  # whoever waited has just ended
                    connection.sendall(status.to_bytes(4, "little", signed=True))


def main() -> None:
    path = sys.argv[1]  # in a folder of its own, which goes with the server
    rooms, libraries = sys.argv[2:], list(sys.path)
    sys.path[:0] = rooms
    load(PROGRAM + (OTHERS if rooms else ()))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{path}.new")
        listening.listen(64)
        Path(f"{path}.new").rename(path)
        gc.freeze()
        gc.set_threshold(100_000)  # of what is started: it ends soon, and has memory
        command = Server(listening).next()
    if command is None:
        shutil.rmtree(Path(path).parent)
    else:
        _end(_status_of(*command, rooms, libraries))


def load(modules: tuple[str, ...] = PROGRAM) -> None:
    """What a program needs, so that forks of this process have it."""
    for name in modules:
        import_module(name)
    for name in _services():
        vars(import_module(name).outputs)  # which makes it load: until then it only looks like a module
    _know_types()
    _plan_once()
    pulumi.log.debug = lambda *_, **__: None  # a request to the engine each, several a resource, and nobody has it show them


def _know_types() -> None:
    """Has the SDK read the types of what the program declares: it keeps them, and reads them for long."""
    from azure_gpu.formats.azure_types import BY_TOKEN

    named = [token.split(":")[1:] for token in BY_TOKEN]
    modules = [(import_module(f"pulumi_azure_native.{service}"), name) for service, name in named]
    left = [
        vars(module)[each]
        for module, name in modules
        for each in (name, f"{name}Args", f"{name}InitArgs")
        if each in vars(module)
    ]
    known = set(left)
    while left:
        of_class = pulumi._types._types_from_py_properties(left.pop())
        found = {part for each in of_class.values() for part in _parts(each) if isinstance(part, type)} - known
        known |= found
        left += [each for each in found if pulumi._types.is_input_type(each) or pulumi._types.is_output_type(each)]


def _plan_once() -> None:
    """Has our package read the tables of its catalog, by a plan of a stack that has something of everything."""
    from azure_gpu.formats.stack_file import configuration
    from azure_gpu.stack import look_ups, plan, settings

    file = Path(__file__).parents[2] / "Pulumi.local.yaml"
    connected = {"azure-native:subscriptionId": "00000000-0000-0000-0000-000000000000"}
    said = settings.read(connected | configuration(file.read_text(encoding="utf-8")), "2026-11-20")
    assert plan.plan(said, look_ups.ASSUMED, "azure-gpu", "local").problems is not None


def _parts(annotation: object) -> Iterator[object]:
    """What a type is composed of."""
    yield annotation
    for each in get_args(annotation):
        yield from _parts(each)


def _services() -> set[str]:
    """The modules of azure-native that hold a type of the program's: some take seconds to load."""
    from azure_gpu.formats.azure_types import BY_TOKEN

    return {f"pulumi_azure_native.{token.split(':')[1]}" for token in BY_TOKEN}


def _status_of(words: list[str], folder: str, environment: dict[str, str], rooms: list[str], libraries: list[str]) -> int:
    """Is the command, as the interpreter would be; its exit status. Where its path names other folders, as those of a copy of the
    checkout, our own modules are loaded from there."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    named = [part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part]
    if not set(named) <= set(rooms):
        for name in [each for each in sys.modules if each.partition(".")[0] in OURS]:
            del sys.modules[name]
    if words[0] == "-m":
        sys.path[:] = [folder, *named, *libraries]
        sys.argv = words[1:]
        run = partial(runpy.run_module, words[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[:] = [str(Path(words[0]).parent), *named, *libraries]
        sys.argv = words
        run = partial(runpy.run_path, words[0], run_name="__main__")
    try:
        run()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001 (as the interpreter does)
        traceback.print_exc()
        return 1
    return 0


def _end(status: int) -> None:
    """As the interpreter ends, without taking apart what is loaded."""
    # pyrefly: ignore[missing-attribute]
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
