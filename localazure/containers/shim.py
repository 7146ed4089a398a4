"""The small process that stands over one container: starts it, keeps its log and state, restarts it, ends it when told.

Run as `python -I -S shim.py FOLDER`; standard library only, and little of it, because one of these runs for every container. It
outlives a killed embedded Azure. Ending: SIGTERM asks for it; SIGINT too, until the embedded Azure is started again; a folder
that is gone, or that another shim holds the lock of, means it at once.

In FOLDER: `spec.json` (what to run, see `container_spec`), `lock` (held for as long as this process lives; its id is in it),
`state.json` (replaced whole at each change), `log` (each line behind its time; the last run's, capped), `root` and `home` (the
container's own files, made anew for each run).
"""

# ruff: noqa: PTH105, PTH110, PTH123, S606, SIM105 - pathlib and contextlib would cost every container their memory

import errno
import fcntl
import json
import os
import select
import signal
import sys
import time

LOG_BYTES = (
    4 * 1024 * 1024
)  # the service keeps as much: Microsoft Learn, container-instances-get-logs (limit of 4 MB a container)
LOOK_SECONDS = 2.0  # how often it looks whether its folder is still there
BACKOFF_RESET_SECONDS = 600  # a run this long makes the next wait a short one again
LOCK_TRIES = 20
STAMP = 28  # characters of a line's time with the space behind it


def main(folder):
    os.chdir(folder)
    lock = os.open("lock", os.O_RDWR | os.O_CREAT, 0o600)
    if not _taken(lock):
        return 1  # another shim stands over this container
    os.truncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    with open("spec.json", encoding="utf-8") as file:
        spec = json.load(file)
    container = Container(spec, _read_state(spec))
    if container.state["ended"]:
        return 0
    container.run_by_policy()
    return 0


class Container:
    def __init__(self, spec, state):
        self.spec = spec
        self.state = state
        self.stopping = False
        self.interrupted = False  # the embedded Azure is taken down: the next one runs the container again, if its policy says so
        self.log = None
        self.line_open = False
        self.closed = False  # the container has closed its output, or is gone
        wake, self.waker = os.pipe()
        self.wake = wake
        for end in (wake, self.waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self.waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._told)
        signal.signal(signal.SIGINT, self._told)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def _told(self, number, _):
        self.interrupted = self.interrupted or number == signal.SIGINT
        self.stopping = True

    def run_by_policy(self):
        self._settle_lost()
        wait = self.spec["backoff_seconds"]
        while not self.stopping and not self.state["ended"]:
            began = time.monotonic()
            code = self._run()
            if code is None or self.stopping or not self._again(code):
                break
            wait = self.spec["backoff_seconds"] if time.monotonic() - began > BACKOFF_RESET_SECONDS else wait
            if not self._back_off(wait):
                break
            wait = min(wait * 2, self.spec["backoff_most_seconds"])
        if self.stopping and self.state["current"].get("state") != "Terminated":
            self._terminated(137, "Stopped")
        self.state["ended"] = not (self.interrupted and self._again(self.state["current"].get("exitCode")))
        self._write()

    def _settle_lost(self):
        """The shim before this one died. What it had started is ended, and counts as a run that failed."""
        pid, started = self.state.get("pid"), self.state.get("started")
        if not pid:
            return
        if started and _start_time(pid) == started:
            _signal_group(pid, signal.SIGKILL)
        self._terminated(137, "Error")
        self._event("Failed", "Warning", "The container was lost together with the process that stood over it")
        if not self._again(137):
            self.state["ended"] = True

    def _again(self, code):
        policy = self.spec["restart_policy"]
        return policy == "Always" or (policy == "OnFailure" and code != 0)

    def _run(self):
        """One run, from fresh files to its end. Returns its exit code; None where the folder or the image went away."""
        if not self._fresh_files():
            if os.path.exists("spec.json"):
                self._event("Failed", "Warning", "The image's files could not be copied: build the image again")
                self._terminated(128, "Error")
            return None
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._become(writer)
        os.close(writer)
        os.set_blocking(reader, False)
        self._started(pid)
        code = self._watch(pid, reader)
        _signal_group(pid, signal.SIGKILL)  # what the container left running goes with it
        self._drain(reader)
        os.close(reader)
        if code is not None:
            self._terminated(code, "Completed" if code == 0 else "Error")
        return code

    def _fresh_files(self):
        pid = os.fork()
        if pid == 0:
            script = 'rm -rf root home && cp -Rp "$1" root && mkdir -m 700 home'
            os.execve("/bin/sh", ["/bin/sh", "-c", script, "sh", self.spec["image_root"]], {"PATH": "/usr/bin:/bin"})
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 and os.path.exists("spec.json")

    def _become(self, writer):
        """In the child: a session of its own, standard input empty, output into the pipe, then the container's program."""
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            if not self.spec["argv"]:
                raise ValueError("neither the container nor its image names a command")
            os.chdir(self.spec["workdir"])
            os.execvpe(self.spec["argv"][0], self.spec["argv"], self.spec["env"])
        except OSError as error:
            os.write(2, f"exec {self.spec['argv'][0]}: {error.strerror}\n".encode())
            os._exit(127 if error.errno == errno.ENOENT else 126)
        except ValueError as error:  # a command or a variable that no process can be given
            os.write(2, f"exec: {error}\n".encode("utf-8", errors="replace"))
            os._exit(126)

    def _started(self, pid):
        if self.state["current"].get("state") == "Terminated":
            self.state["previous"] = self.state["current"]
            self.state["restart_count"] += 1
        self.state["current"] = {"state": "Running", "startTime": _now(), "detailStatus": ""}
        self.state["pid"] = pid
        self.state["started"] = _start_time(pid)
        self.state["shim"] = os.getpid()
        self._event("Started", "Normal", "Started container")
        self.log = open("log", "wb", buffering=0)  # noqa: SIM115  # open for as long as the run lasts
        self.line_open = False
        self.closed = False
        self._write()

    def _watch(self, pid, reader):
        """Copies output until the container ends. Told to stop, it asks the container, and kills it when its time is over."""
        asked = None
        while True:
            self._wait(reader)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
            if not os.path.exists("spec.json"):
                _signal_group(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return None
            if self.stopping and asked is None:
                asked = time.monotonic()
                self._event("Killing", "Normal", "Killing container")
                self._write()
                _signal_group(pid, signal.SIGTERM)
            if asked is not None and time.monotonic() - asked > self.spec["stop_seconds"]:
                _signal_group(pid, signal.SIGKILL)

    def _wait(self, reader):
        seconds = min(LOOK_SECONDS, 0.2) if self.stopping else LOOK_SECONDS
        ready = select.select([self.wake] if self.closed else [self.wake, reader], [], [], seconds)[0]
        if self.wake in ready:
            os.read(self.wake, 4096)
        if reader in ready:
            self._copy(reader)

    def _drain(self, reader):
        while self._copy(reader):
            pass

    def _copy(self, reader):
        """Appends what the container printed. False where there is nothing more."""
        try:
            chunk = os.read(reader, 65536)
        except BlockingIOError:
            return False
        if not chunk:
            self.closed = True
            return False
        stamp = _now().encode() + b" "
        lines = chunk.split(b"\n")
        text = b"" if self.line_open else stamp
        text += (b"\n" + stamp).join(lines)
        self.line_open = lines[-1] != b""
        self.log.write(text if self.line_open else text[: -len(stamp)])
        if self.log.tell() > LOG_BYTES:
            self._shorten()
        return True

    def _shorten(self):
        """Keeps the newer half of the log, from a line's start on."""
        with open("log", "rb") as file:
            file.seek(-LOG_BYTES // 2, os.SEEK_END)
            kept = file.read().partition(b"\n")[2]
        with open("log.new", "wb") as file:
            file.write(kept)
        os.replace("log.new", "log")
        self.log.close()
        self.log = open("log", "ab", buffering=0)  # noqa: SIM115

    def _back_off(self, seconds):
        """Waits before the next run. False where it was told to stop meanwhile, or its folder is gone."""
        self.state["previous"] = self.state["current"]
        self.state["restart_count"] += 1
        self.state["current"] = {
            "state": "Waiting",
            "startTime": None,
            "detailStatus": "CrashLoopBackOff: Back-off restarting failed",
        }
        self._event("BackOff", "Warning", "Back-off restarting failed container")
        self._write()
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.stopping:
            if not os.path.exists("spec.json"):
                return False
            ready = select.select([self.wake], [], [], min(LOOK_SECONDS, max(0.0, until - time.monotonic())))[0]
            if ready:
                os.read(self.wake, 4096)
        return not self.stopping

    def _terminated(self, code, detail):
        started = self.state["current"].get("startTime")
        self.state["current"] = {
            "state": "Terminated",
            "startTime": started,
            "finishTime": _now(),
            "exitCode": code,
            "detailStatus": detail,
        }
        self.state["pid"] = None
        self._write()

    def _event(self, name, kind, message):
        now = _now()
        for event in self.state["events"]:
            if event["name"] == name and event["message"] == message:
                event["count"] += 1
                event["lastTimestamp"] = now
                return
        self.state["events"].append(
            {"count": 1, "firstTimestamp": now, "lastTimestamp": now, "name": name, "message": message, "type": kind}
        )

    def _write(self):
        if not os.path.exists("spec.json"):
            return  # the folder was removed: nobody reads this any more
        with open("state.new", "w", encoding="utf-8") as file:
            json.dump(self.state, file)
        os.replace("state.new", "state.json")


def _taken(lock):
    """Takes the lock. Whoever looks whether a shim lives holds it for an instant, so one refusal means nothing yet."""
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.01)
        else:
            return True
    return False


def _read_state(spec):
    """What the last shim of the same run wrote, or the state of one that hasn't begun."""
    try:
        with open("state.json", encoding="utf-8") as file:
            state = json.load(file)
        if state["run"] == spec["run"]:
            return state
    except FileNotFoundError:
        pass
    return {
        "run": spec["run"],
        "current": {},
        "previous": None,
        "restart_count": 0,
        "events": list(spec["events"]),
        "pid": None,
        "started": None,
        "ended": False,
        "shim": None,  # the process that began the present run: whoever started it waits for that
    }


def _now():
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1_000_000):06d}Z"


def _start_time(pid):
    """When a process started, so that a reused id isn't taken for it; "" where that can't be read (there is no /proc)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _signal_group(pid, number):
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
