"""The process that supervises one cluster's control plane: starts its parts, restarts what dies, ends them in order.

Run as `python -I -S control_plane_supervisor.py FOLDER`; standard library only. It outlives a killed embedded Azure, and the next
one finds it by its lock. SIGTERM ends it and all parts, the last one first; a folder or `spec.json` that is gone kills them.

In FOLDER: `spec.json` (the parts, see `control_plane_parts`), `lock` (held for as long as this process lives; its id is in it),
`state.json` (replaced whole at each change: the parts' processes, how often each was started, which of them are ready). A part
may wait until the parts that it comes after are ready: they answer 200 at their address.
"""

import contextlib
import http.client
import json
import os
import select
import signal
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # started alone, it has only the standard library
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from localazure.containers import shim_processes
from localazure.process import ProcessId, start_time

LOOK_SECONDS = 2.0  # how often it looks whether its folder is still there
POLL_SECONDS = 0.05  # how often it asks a part that isn't ready yet
ASK_SECONDS = 2.0
FIRST_BACKOFF_SECONDS, MOST_BACKOFF_SECONDS = 0.25, 8.0
STEADY_SECONDS = 30.0  # a part that ran this long is started again at once
END_SECONDS = 4.0  # given to each part
LOG_BYTES = 16 << 20  # a longer log is cut when its part is started


def main(folder: str) -> int:
    os.chdir(folder)
    if not shim_processes.take_lock():
        return 1  # another one stands over this cluster
    settle(Path())
    spec = json.loads(Path("spec.json").read_text(encoding="utf-8"))
    Supervisor(spec["parts"]).run()
    return 0


def settle(folder: Path) -> bool:
    """Ends what a supervisor that was killed has left behind. Called by whoever holds the lock, or knows that nobody does.

    Whether there was something.
    """
    try:
        left = json.loads((folder / "state.json").read_text(encoding="utf-8"))["parts"].values()
    except (FileNotFoundError, ValueError, KeyError):
        return False
    found = [process for part in left if (process := ProcessId(int(part["pid"]), str(part["started"]))).alive]
    for process in found:
        process.end(0)
    return bool(found)


class Part:
    """One program of the control plane."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.name: str = spec["name"]
        self.spec = spec
        self.process: subprocess.Popen[bytes] | None = None
        self.started = ""
        self.began = 0.0
        self.starts = 0
        self.exit_code: int | None = None
        self.ready = False
        self.backoff = FIRST_BACKOFF_SECONDS
        self.due = 0.0  # not started again before

    def start(self) -> None:
        self.began = time.monotonic()
        self.starts += 1
        try:
            self.process = self._begun(Path(self.spec["log"]))
        except OSError:  # also of a log that can't be opened
            self._ended(127)
            return
        self.started = start_time(self.process.pid)
        self.ready = "ready" not in self.spec  # one that can't be asked counts at once

    def _begun(self, log: Path) -> subprocess.Popen[bytes]:
        if log.exists() and log.stat().st_size > LOG_BYTES:
            log.write_bytes(b"")
        with log.open("ab") as output:
            try:
                return subprocess.Popen(
                    self.spec["argv"],
                    cwd=self.spec["cwd"],
                    env=self.spec["env"],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )
            except OSError as error:
                output.write(f"{self.spec['argv'][0]}: {error.strerror}\n".encode())
                raise

    def collect(self) -> bool:
        """Whether it has ended since it was looked at last."""
        if self.process is None or self.process.poll() is None:
            return False
        self._ended(self.process.returncode)
        return True

    def _ended(self, code: int) -> None:
        now = time.monotonic()
        self.process, self.ready, self.exit_code = None, False, code
        if now - self.began > STEADY_SECONDS:
            self.backoff = FIRST_BACKOFF_SECONDS
        self.due = now + self.backoff
        self.backoff = min(self.backoff * 2, MOST_BACKOFF_SECONDS)

    def ask(self) -> bool:
        """Asks whether it is ready, where it hasn't said so yet. Whether that is new."""
        if self.ready or self.process is None or not _answers(self.spec["ready"]):
            return False
        self.ready = True
        return True

    def end(self, seconds: float) -> None:
        """Asks it to end, and kills it where it hasn't after `seconds`."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def state(self) -> dict[str, Any]:
        return {
            "pid": self.process.pid if self.process else 0,
            "started": self.started,
            "starts": self.starts,
            "exitCode": self.exit_code,
            "ready": self.ready,
        }


class Supervisor:
    def __init__(self, parts: list[dict[str, Any]]) -> None:
        self.parts = [Part(spec) for spec in parts]
        self.stopping = False
        self.untold = False  # the state couldn't be written, such as on a full disk; that isn't a reason to leave the parts alone
        wake, waker = os.pipe()
        for end in (wake, waker):
            os.set_blocking(end, False)
        self.wake = wake
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._told)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def _told(self, *_: object) -> None:
        self.stopping = True

    def run(self) -> None:
        self._write()
        while not self.stopping and Path("spec.json").exists():
            if self._step() or self.untold:
                self._write()
            self._wait()
        is_removed = not Path("spec.json").exists()  # then nothing that a part would still write is kept
        for part in reversed(self.parts):
            part.end(0 if is_removed else END_SECONDS)
            part.collect()
        self._write()

    def _step(self) -> bool:
        """One look at all parts. Whether something has changed."""
        changed = False
        ready: set[str] = set()
        for part in self.parts:
            changed |= part.collect()
            if part.process is None and time.monotonic() >= part.due and ready.issuperset(part.spec["after"]):
                part.start()
                self._write()  # its process is known before anything else happens: whoever comes after a killed one ends it
                changed = True
            changed |= part.ask()
            if part.ready:
                ready.add(part.name)
        return changed

    def _wait(self) -> None:
        busy = any(not part.ready for part in self.parts)
        if select.select([self.wake], [], [], POLL_SECONDS if busy else LOOK_SECONDS)[0]:
            with contextlib.suppress(BlockingIOError):
                os.read(self.wake, 4096)

    def _write(self) -> None:
        state = {"supervisor": os.getpid(), "parts": {part.name: part.state() for part in self.parts}}
        temporary = Path(".state.json")
        try:
            temporary.write_text(json.dumps(state, indent=1), encoding="utf-8")
            temporary.replace("state.json")
        except OSError:
            self.untold = True
        else:
            self.untold = False


def _answers(requested: dict[str, Any]) -> bool:
    """Whether GET of an address answers 200. `asked`: host, port, path, and files ca, certificate, key."""
    context = ssl.create_default_context(cafile=requested["ca"])
    context.load_cert_chain(requested["certificate"], requested["key"])
    connection = http.client.HTTPSConnection(requested["host"], requested["port"], timeout=ASK_SECONDS, context=context)
    try:
        connection.request("GET", requested["path"])
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
