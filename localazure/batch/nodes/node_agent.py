"""The process of a Batch node: it starts commands, ends them in time, and reports how they ended.

Run as `python -I -S node_agent.py FOLDER`; standard library only, because one of these runs for every node. It outlives a killed
embedded Azure, and so do the commands that it has started; the next one finds it by its lock file and connects again. A node that
is killed leaves commands behind: their process ids are in `journal`, and the next agent in the folder ends them first.

In FOLDER: `lock` (held for as long as this process lives), `agent.sock` (where the embedded Azure connects; JSON, one object a
line), `journal`. SIGTERM, or a folder that is gone, ends the node with all that runs on it.

A process of another node that starts one here, as `mpirun` does over SSH on real nodes, asks at `launch.sock` (see launch.py):
the words of a shell command, with its own standard input, output and error. It hears the exit code; where it goes, what it
started ends.

Asked: `start` (run, argv, env, cwd, stdout, stderr, seconds, keep, context), `end` (run), `clear` (run: what a kept run left
behind), `forget` (run: its end was heard), `quit`. Told: first of all `hello` (pid, runs), then `ended` for each run. What ends
is told again to whoever connects, until it is forgotten.
"""

# ruff: noqa: PTH103, PTH108, PTH110, PTH120, SIM105, S606 - pathlib and contextlib would cost every node their memory

import errno
import json
import os
import selectors
import signal
import socket
import stat
import sys
import time

if __name__ == "__main__":  # started alone, it has only the standard library
    sys.path.append(os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../..")))  # noqa: PTH118

from localazure.batch.nodes import node_journal
from localazure.containers import shim_processes as processes

LAUNCH_SECONDS = 5.0  # in which a process of another node has to say what it wants
LOOK_SECONDS = 5.0  # how often it looks whether its folder is still there
GRACE_SECONDS = 3.0  # between asking a command to end and killing it
NOT_FOUND, NOT_STARTED = "not-found", "not-started"  # why a run never began
HANDLED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
TIMEOUT, ASKED = "timeout", "asked"  # why a run was ended


def main(folder):
    folder = os.path.realpath(folder)
    os.chdir(folder)
    if not processes.take_lock():
        return 1  # another agent is this node
    node_journal.settle(folder)
    Agent().serve()
    node_journal.settle(folder)
    return 0


class Agent:
    def __init__(self):
        self.runs = {}  # by id: what was asked, with pid, started_at, and how it ended
        self.by_pid = {}
        self.launched = {}  # by pid: the connection of whoever asked for it
        self.kept = {}  # by id: process groups of ended runs whose background processes stay
        self.quitting = False
        self.connection = None
        self.received, self.unsent = b"", b""
        self.journal = node_journal.Journal()
        self.wake, waker = os.pipe()
        for end in (self.wake, waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._told)
        signal.signal(signal.SIGINT, self._told)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.selector = selectors.DefaultSelector()
        self.listening = listen("agent.sock")
        self.launching = listen("launch.sock")
        self.selector.register(self.listening, selectors.EVENT_READ)
        self.selector.register(self.launching, selectors.EVENT_READ)
        self.selector.register(self.wake, selectors.EVENT_READ)

    def _told(self, *_):
        self.quitting = True

    def serve(self):
        while not self.quitting and os.path.exists("lock"):
            for key, ready in self.selector.select(self._seconds()):
                if key.fileobj is self.listening:
                    self._accept()
                elif key.fileobj is self.launching:
                    self._launch()
                elif key.data is not None:
                    self._launcher_gone(key.data)
                elif key.fileobj == self.wake:
                    os.read(self.wake, 4096)
                elif key.fileobj is self.connection:
                    if ready & selectors.EVENT_WRITE:
                        self._flush()
                    if ready & selectors.EVENT_READ:
                        self._read()
            self._collect()
            self._keep_time()
        self._end_all()

    # The embedded Azure

    def _accept(self):
        """The newest connection is the one that counts: the one before it belonged to a server that is gone."""
        connection, _ = self.listening.accept()
        connection.setblocking(False)
        self._hang_up()
        self.connection = connection
        self.selector.register(connection, selectors.EVENT_READ)
        self._tell({"hello": {"pid": os.getpid(), "runs": [_shown(run) for run in self.runs.values()]}})

    def _hang_up(self):
        if self.connection is not None:
            self.selector.unregister(self.connection)
            self.connection.close()
        self.connection, self.received, self.unsent = None, b"", b""

    def _read(self):
        connection = self.connection
        if connection is None:
            return
        try:
            chunk = connection.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._hang_up()
            return
        lines = (self.received + chunk).split(b"\n")
        self.received = lines.pop()
        for line in lines:
            message = json.loads(line)
            getattr(self, "do_" + message.pop("do"))(message)

    def _tell(self, message):
        if self.connection is not None:
            self.unsent += json.dumps(message).encode() + b"\n"
            self._flush()

    def _flush(self):
        connection = self.connection
        if connection is None:
            return
        try:
            while self.unsent:
                self.unsent = self.unsent[connection.send(self.unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self._hang_up()
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.unsent else 0)
        self.selector.modify(connection, events)

    # What it is asked

    def do_start(self, run):
        if run["run"] in self.runs:
            return
        self.runs[run["run"]] = run
        run["started_at"] = processes.now()
        try:
            os.makedirs(run["cwd"], exist_ok=True)
            for name in ("stdout", "stderr"):
                make_way(run[name])
            program = found(run["argv"][0], run["env"].get("PATH", os.defpath), run["cwd"])
            if program is None:
                self._ended(run, None, NOT_FOUND)
                return
            pid = spawn(program, run)
        except OSError as error:
            run["message"] = error.strerror
            self._ended(run, None, NOT_STARTED)
            return
        run["pid"] = pid
        run["deadline"] = time.monotonic() + run["seconds"] if run.get("seconds") else None
        self.by_pid[pid] = run
        self.journal.started(pid)

    def do_end(self, message):
        run = self.runs.get(message["run"])
        if run is not None and "ended_at" not in run:
            self._ask_to_end(run, ASKED)

    def do_clear(self, message):
        group = self.kept.pop(message["run"], None)
        if group is not None:
            processes.signal_group(group, signal.SIGKILL)
            self.journal.ended(group)

    def do_forget(self, message):
        self.runs.pop(message["run"], None)
        self.journal.shorten(self._running)

    def do_quit(self, _):
        self.quitting = True

    # Commands

    def _collect(self):
        while self.by_pid or self.launched:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.launched:
                self._launched_ended(pid, processes.exit_code(status))
            run = self.by_pid.pop(pid, None)
            if run is None:
                continue
            if run.get("keep"):
                self.kept[run["run"]] = pid
            else:
                processes.signal_group(pid, signal.SIGKILL)  # what the command left running goes with it
                self.journal.ended(pid)
            self._ended(run, processes.exit_code(status), run.get("why", ""))

    def _ended(self, run, code, why):
        run["ended_at"], run["code"], run["why"] = processes.now(), code, why
        for key in ("env", "argv"):
            run.pop(key, None)
        self._tell({"ended": _shown(run)})

    def _keep_time(self):
        now = time.monotonic()
        for run in list(self.by_pid.values()):
            if "kill_at" in run:
                if now >= run["kill_at"]:
                    processes.signal_group(run["pid"], signal.SIGKILL)
            elif run["deadline"] is not None and now >= run["deadline"]:
                self._ask_to_end(run, TIMEOUT)

    def _ask_to_end(self, run, why):
        if "kill_at" not in run:
            run["why"], run["kill_at"] = why, time.monotonic() + GRACE_SECONDS
            processes.signal_group(run["pid"], signal.SIGTERM)

    def _seconds(self):
        due = [run["kill_at"] if "kill_at" in run else run["deadline"] for run in self.by_pid.values()]
        soonest = min((one for one in due if one is not None), default=None)
        return LOOK_SECONDS if soonest is None else min(LOOK_SECONDS, max(0.0, soonest - time.monotonic()))

    def _running(self):
        return [*self.by_pid, *self.launched, *self.kept.values()]

    def _end_all(self):
        for pid in self._running():
            processes.signal_group(pid, signal.SIGKILL)
        self.journal.remove()
        for name in ("agent.sock", "launch.sock"):
            try:
                os.unlink(name)
            except FileNotFoundError:
                pass

    # Processes for other nodes

    def _launch(self):
        """Starts a command for a process of another node, with that one's standard streams."""
        connection, _ = self.launching.accept()
        connection.settimeout(LAUNCH_SECONDS)
        try:
            request, streams, _, _ = socket.recv_fds(connection, 1 << 18, 3)
            requested = json.loads(request)
        except (OSError, ValueError):
            connection.close()
            return
        pid = self._launched(requested, streams)
        for stream in streams:
            os.close(stream)
        if not pid:
            connection.close()
            return
        self.launched[pid] = connection
        self.journal.started(pid)
        connection.setblocking(False)
        self.selector.register(connection, selectors.EVENT_READ, pid)

    def _launched(self, requested, streams):
        """The process; 0 for what isn't a request, since anybody on the node may ask, and where there can't be one more."""
        try:
            command, env = str(requested["command"]), {str(name): str(value) for name, value in requested["env"].items()}
            pid = os.fork() if len(streams) == 3 else 0
        except (LookupError, TypeError, AttributeError, OSError):
            return 0
        if pid == 0 and len(streams) == 3:
            become(["/bin/sh", "-c", command], env, "root", streams)
        return pid

    def _launcher_gone(self, pid):
        processes.signal_group(pid, signal.SIGKILL)
        connection = self.launched.get(pid)
        if connection is not None:
            self.selector.unregister(connection)
            connection.close()
            self.launched[pid] = None

    def _launched_ended(self, pid, code):
        connection = self.launched.pop(pid)
        processes.signal_group(pid, signal.SIGKILL)
        self.journal.ended(pid)
        if connection is not None:
            self.selector.unregister(connection)
            try:
                connection.send(str(code).encode())
            except OSError:
                pass
            connection.close()


def _shown(run):
    """What is told of a run."""
    return {key: run[key] for key in ("run", "context", "pid", "started_at", "ended_at", "code", "why", "message") if key in run}


def found(program, path, folder):
    """The file that a program's name means: looked for in `path`, or from the folder on where the name has a slash."""
    if "/" in program:
        candidates = [os.path.join(folder, program)]  # noqa: PTH118
    else:
        candidates = [os.path.join(folder, part, program) for part in path.split(os.pathsep) if part]  # noqa: PTH118
    return next((one for one in candidates if os.path.isfile(one) and os.access(one, os.X_OK)), None)  # noqa: PTH113


def make_way(path):
    """Output goes into a file, and never through a link or into a pipe that the task's last try has put there."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            os.unlink(path)
    except FileNotFoundError:
        pass


def spawn(program, run):
    """Starts a command in a separate session, its output in files. Without a copy of this process, which would cost more."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if run.get("append") else os.O_TRUNC)
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, run["stdout"], flags, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, run["stderr"], flags, 0o644),
    ]
    home = os.open(".", os.O_RDONLY)
    try:
        os.chdir(run["cwd"])
        return os.posix_spawn(program, run["argv"], run["env"], file_actions=streams, setsid=True, setsigdef=HANDLED)
    finally:
        os.chdir(home)
        os.close(home)


def become(argv, env, folder, streams):
    """The child's end as this program: it runs the command, or says why it can't and exits as a shell does."""
    try:
        signal.set_wakeup_fd(-1)
        for number in HANDLED:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.chdir(folder)
        os.execve(argv[0], argv, env)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(127 if error.errno == errno.ENOENT else 126)
    except BaseException:  # noqa: BLE001 - a child may never go on as its parent
        os._exit(126)


def listen(name):
    """A socket of this user's alone."""
    try:
        os.unlink(name)
    except FileNotFoundError:
        pass
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(name)
    os.chmod(name, 0o600)  # noqa: PTH101
    listening.listen(16)
    listening.setblocking(False)
    return listening


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
