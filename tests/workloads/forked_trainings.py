"""Starts trainings and other programs that find TensorFlow imported already: each is a fork of this process, which computes
nothing itself.

Runs in MNIST's locked environment. In: a line of JSON for each, with `arguments`, `environment`, `output` and `errors` (files),
and `program`, Python's text, where it is no training.
Out: for each a line with its process id; and `{"ended": id, "code": code}` when one has ended, a signal as a negative number.
"""

import json
import os
import selectors
import signal
import sys
import tempfile
import traceback
from pathlib import Path


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[2] / "workloads" / "mnist"))
    from mnist_training import session  # noqa: F401 - this is what forks have at once

    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    ready = selectors.DefaultSelector()
    ready.register(wake, selectors.EVENT_READ)
    ready.register(0, selectors.EVENT_READ)
    rest = b""
    while True:
        for key, _ in ready.select():
            if key.fd == wake:
                os.read(wake, 4096)
                reap()
                continue
            read = os.read(0, 65536)
            if not read:
                return
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                tell({"started": start(json.loads(line))})


def start(wanted: dict) -> int:
    process = os.fork()
    if process:
        return process
    code = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.environ.update(wanted["environment"])
        tempfile.tempdir = str(Path(wanted["output"]).parent)  # AutoGraph's files are removed at an exit that forks don't have
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for descriptor, file in ((1, wanted["output"]), (2, wanted["errors"])):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        code = trained(wanted["arguments"]) if "program" not in wanted else ran(wanted["program"], wanted["arguments"])
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - a fork never goes on as its parent
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def trained(arguments: list[str]) -> int:
    from mnist_training.__main__ import main as train

    return int(train(arguments))


def ran(program: str, arguments: list[str]) -> int:
    sys.argv = ["-c", *arguments]
    exec(compile(program, "program", "exec"), {"__name__": "__main__"})
    return 0


def reap() -> None:
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not process:
            return
        tell({"ended": process, "code": os.waitstatus_to_exitcode(status)})


def tell(what: dict) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
