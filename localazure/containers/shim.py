"""The process that supervises one container: starts it, keeps its log and state, restarts it, and ends it on request.

Run as `python -I -S shim.py FOLDER`; standard library only, and little of it, because one of these runs for every container. It
outlives a killed embedded Azure. Ending: SIGTERM requests it; SIGINT too, until the embedded Azure is started again; a folder
that is gone, or that another shim holds the lock of, means it at once.

In FOLDER: `spec.json` (what to run, see `container_spec`), `lock` (held for as long as this process lives; its id is in it),
`state.json` (replaced whole at each change), `log` (each line behind its time; the last run's, capped), `root` and `home` (the
container's own files, made again for each run). Beside FOLDER lie those of the group's other containers: one that has to wait for
init containers reads their states there.
"""

# ruff: noqa: PTH105, PTH110, PTH120, PTH123 - pathlib would cost every container its memory

import json
import os
import select
import signal
import sys
import time

if __name__ == "__main__":  # started alone, it has only the standard library
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))

from localazure.containers import shim_files, shim_memory, shim_processes as processes
from localazure.containers.shim_log import Log

LOOK_SECONDS = 2.0  # how often it looks whether its folder is still there
WAIT_SECONDS = 0.05  # how often it looks whether the containers before it have ended
BACKOFF_RESET_SECONDS = 600  # a run this long makes the next wait a short one again
LOST, NO_FILES = 137, 128  # exit codes: killed; never begun
LOCKED = 75  # its own exit code where another shim has the lock, or somebody who looks at it


def main(folder):
    os.chdir(folder)
    if not processes.take_lock():
        return LOCKED
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
        self.log = None  # of the present run
        self.probes = []  # of the present run: name and probe
        self.ending = None  # since when the container has been asked to end
        self.out_of_memory = False
        self.untold = False  # the state couldn't be written
        self.memory_due = 0.0  # when its memory is looked at next
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
        may_run = self.state["ended"] or self._others_succeed()
        while may_run and not self.stopping and not self.state["ended"]:
            began = time.monotonic()
            code = self._run()
            if code is None or self.stopping or not self._again(code):
                break
            wait = self.spec["backoff_seconds"] if time.monotonic() - began > BACKOFF_RESET_SECONDS else wait
            if not self._back_off(wait):
                break
            wait = min(wait * 2, self.spec["backoff_most_seconds"])
        if self.stopping and self.state["current"].get("state") != "Terminated":
            self._terminated(LOST, "Stopped")
        self.state["ended"] = not (self.interrupted and self._again(self.state["current"].get("exitCode")))
        self._write()

    def _settle_lost(self):
        """The shim before this one died. What it had started is ended, and counts as a run that failed."""
        pid, started = self.state.get("pid"), self.state.get("started")
        if not pid:
            return
        if started and processes.start_time(pid) == started:
            processes.signal_group(pid, signal.SIGKILL)
        self._terminated(LOST, "Error")
        self._event("Failed", "Warning", "The container was lost together with the process that stood over it")
        if not self._again(LOST):
            self.state["ended"] = True

    def _others_succeed(self):
        """Waits for the init containers before this one. False where one has failed for good, or where waiting was ended."""
        while not self.stopping and os.path.exists("spec.json"):
            ended = [_end_of(name, self.spec["run"]) for name in self.spec.get("after", ())]
            failed = any(code for code in ended)
            if None not in ended and not failed:
                return True
            if self.state["shim"] != os.getpid():
                self.state["current"] = {"state": "Waiting", "startTime": None, "detailStatus": ""}
                self.state["shim"] = os.getpid()
                self._write()
            if failed:
                return False
            if select.select([self.wake], [], [], WAIT_SECONDS)[0]:
                os.read(self.wake, 4096)
        return False

    def _again(self, code):
        policy = self.spec["restart_policy"]
        return policy == "Always" or (policy == "OnFailure" and code != 0)

    def _run(self):
        """One run, from fresh files to its end. Returns its exit code; None where the folder, the image or a volume went away."""
        why = self._fresh_files()
        if why:
            if os.path.exists("spec.json"):
                self._event("Failed", "Warning", why)
                self._terminated(NO_FILES, "Error")
            return None
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            processes.begin(writer)
            processes.become(self.spec["argv"], self.spec["env"], self.spec["workdir"])
        os.close(writer)
        os.set_blocking(reader, False)
        self._started(pid)
        code = self._watch(pid, reader)
        assert self.log is not None  # since it was started
        for _, probe in self.probes:
            probe.end()
        processes.signal_group(pid, signal.SIGKILL)  # what the container left running goes with it
        self.log.drain(reader)
        os.close(reader)
        if code is not None:
            self._terminated(code, "OOMKilled" if self.out_of_memory else "Completed" if code == 0 else "Error")
        return code

    def _fresh_files(self):
        """Why there are none, or ""."""
        if not shim_files.fresh(self.spec["image_root"], self.spec.get("image_python"), self.spec.get("pip")):
            return "The image's files could not be copied: build the image again"
        why = shim_files.mount(self.spec.get("mounts", ()))
        return f"A volume could not be mounted: {why}" if why else ""

    def _started(self, pid):
        if self.state["current"].get("state") == "Terminated":
            self.state["previous"] = self.state["current"]
            self.state["restart_count"] += 1
        self.state["current"] = {"state": "Running", "startTime": processes.now(), "detailStatus": ""}
        self.state["pid"] = pid
        self.state["started"] = processes.start_time(pid)
        self.state["shim"] = os.getpid()
        self._event("Started", "Normal", "Started container")
        self.log = Log()
        self.ending, self.out_of_memory, self.probes = None, False, []
        self._write()
        if self.spec.get("probes"):
            from localazure.containers.shim_probes import Probe  # here, because few containers have one

            env, folder = self.spec["env"], self.spec["workdir"]
            self.probes = [(name, Probe(spec, env, folder)) for name, spec in self.spec["probes"].items()]

    def _watch(self, pid, reader):
        """Copies output until the container ends. Told to stop, it asks the container, and kills it when its time is over."""
        while True:
            self._wait(reader)
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return processes.exit_code(status)
            if not os.path.exists("spec.json"):
                processes.signal_group(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return None
            if self.stopping:
                self._ask_to_end(pid, "Killing container")
            elif self.ending is None:
                self._probe(pid)
            if self.ending is not None and time.monotonic() - self.ending > self.spec["stop_seconds"]:
                processes.signal_group(pid, signal.SIGKILL)
            self._look_at_memory(pid)
            if self.untold:
                self._write()

    def _ask_to_end(self, pid, message):
        if self.ending is None:
            self.ending = time.monotonic()
            self._event("Killing", "Normal", message)
            self._write()
            processes.signal_group(pid, signal.SIGTERM)

    def _look_at_memory(self, pid):
        limit = self.spec.get("memory_bytes")
        if limit and time.monotonic() >= self.memory_due:
            self.memory_due = time.monotonic() + shim_memory.LOOK_SECONDS
            if shim_memory.used_bytes(pid) > limit:
                self.out_of_memory = True
                processes.signal_group(pid, signal.SIGKILL)

    def _probe(self, pid):
        """Lets the probes continue. Each try that fails is an event; one too many of a liveness probe ends the run."""
        for name, probe in self.probes:
            why = probe.step()
            if not why:
                continue
            self._event("Unhealthy", "Warning", f"{name.capitalize()} probe failed: {why}")
            self._write()
            if name == "liveness" and probe.failures >= self.spec["probes"][name]["failure_threshold"]:
                self._ask_to_end(pid, f"Container {self.spec['name']} failed liveness probe, will be restarted")
                return

    def _wait(self, reader):
        seconds = LOOK_SECONDS if not self.stopping and self.ending is None else min(LOOK_SECONDS, 0.2)
        if self.spec.get("memory_bytes"):
            seconds = min(seconds, shim_memory.LOOK_SECONDS)
        for _, probe in self.probes:
            seconds = min(seconds, probe.seconds_left())
        assert self.log is not None
        ready = select.select([self.wake] if self.log.closed else [self.wake, reader], [], [], seconds)[0]
        if self.wake in ready:
            os.read(self.wake, 4096)
        if reader in ready:
            self.log.copy(reader)

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
            "finishTime": processes.now(),
            "exitCode": code,
            "detailStatus": detail,
        }
        self.state["pid"] = None
        self._write()

    def _event(self, name, kind, message):
        now = processes.now()
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
        try:
            with open("state.new", "w", encoding="utf-8") as file:
                json.dump(self.state, file)
            os.replace("state.new", "state.json")
        except OSError:  # such as on a full disk, which isn't a reason to leave the container alone
            self.untold = True
        else:
            self.untold = False


def _end_of(name, run):
    """The exit code with which a container of the same run has ended for good; None where it hasn't."""
    try:
        with open(f"../{name}/state.json", encoding="utf-8") as file:
            state = json.load(file)
    except FileNotFoundError:
        return None
    if state["run"] != run or not state["ended"]:
        return None
    return state["current"].get("exitCode", NO_FILES)


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
        "shim": None,  # the process that began the present run, for which its starter waits
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
