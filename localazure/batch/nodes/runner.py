"""Stands over one command of a Batch node or a virtual machine: starts it, ends it in time, and writes down how it ended.

Run as `python -I -S runner.py FOLDER LOCK`; standard library only, and little of it, because one of these runs for every command.
It outlives a killed embedded Azure, and so does its command; the next one finds both by the folder (see agent.py).

In FOLDER: `command.json` (what to run), `lock` (held through LOCK, a file that this process is started with, for as long as it
lives; its id is in it), `group` (the command's process group, and when it started; gone with the group), `end.json` (how it
ended). SIGTERM, blocked at first, requests the command's end. A folder that is gone means it at once.
"""

# ruff: noqa: PTH103, PTH105, PTH108, PTH110, PTH120, PTH123, SIM105 - pathlib and contextlib would cost every command their memory

import json
import os
import select
import signal
import stat
import sys
import time

if __name__ == "__main__":  # started alone, it has only the standard library
    sys.path.append(os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../..")))  # noqa: PTH118

from localazure.containers import shim_processes as processes

LOOK_SECONDS = 5.0  # how often it looks whether its folder is still there
GRACE_SECONDS = 3.0  # between asking a command to end and killing it
NOT_FOUND, NOT_STARTED = "not-found", "not-started"  # why a command never began
TIMEOUT, ASKED = "timeout", "asked"  # why it was ended
HANDLED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_asked = False


def main(folder, lock):
    os.set_inheritable(lock, False)  # it is this process that lives or doesn't, not what the command leaves behind
    with open(f"{folder}/command.json", encoding="utf-8") as file:
        command = json.load(file)
    wake = handle_signals()
    end: dict[str, object] = {"started_at": processes.now(), "code": None, "why": "", "message": ""}
    try:
        pid = start(command)
    except OSError as error:
        end |= {"why": NOT_STARTED, "message": error.strerror}
    else:
        if pid is None:
            end["why"] = NOT_FOUND
        else:
            write(f"{folder}/group", f"{pid} {processes.start_time(pid)}")
            end["code"], end["why"] = watch(pid, command["seconds"], folder, wake)
            if not command["keep"]:
                processes.signal_group(pid, signal.SIGKILL)  # what the command left running goes with it
                remove(f"{folder}/group")
    write(f"{folder}/end.json", json.dumps({**end, "ended_at": processes.now()}))


def handle_signals():
    """The end of a pipe that becomes readable with each signal."""
    wake, waker = os.pipe()
    for end in (wake, waker):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, asked)
    signal.signal(signal.SIGINT, asked)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return wake


def asked(*_):
    global _asked
    _asked = True


def start(command):
    """The process id of the command, in a separate session, its output in files; None where there is no such program."""
    os.makedirs(command["cwd"], exist_ok=True)
    os.chdir(command["cwd"])
    for name in ("stdout", "stderr"):
        make_way(command[name])
    program = found(command["argv"][0], command["env"].get("PATH", os.defpath))
    if program is None:
        return None
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if command["append"] else os.O_TRUNC)
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, command["stdout"], flags, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, command["stderr"], flags, 0o644),
    ]
    return os.posix_spawn(
        program, command["argv"], command["env"], file_actions=streams, setsid=True, setsigmask=(), setsigdef=HANDLED
    )


def found(program, path):
    """The file that a program's name means: looked for in `path`, or from the working folder on where the name has a slash."""
    candidates = [program] if "/" in program else [os.path.join(part, program) for part in path.split(os.pathsep) if part]  # noqa: PTH118
    return next((one for one in candidates if os.path.isfile(one) and os.access(one, os.X_OK)), None)  # noqa: PTH113


def make_way(path):
    """Output goes into a file, and never through a link or into a pipe that the task's last try has put there."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            os.unlink(path)
    except FileNotFoundError:
        pass


def watch(pid, seconds, folder, wake):
    """Waits for the command's end, and brings it about where that is requested or due. Its exit code, and why it was ended."""
    due = time.monotonic() + seconds if seconds else None  # when the next thing is done to it
    why = ""
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return processes.exit_code(status), why
        is_due = due is not None and time.monotonic() >= due
        if (why and is_due) or not os.path.exists(f"{folder}/lock"):
            processes.signal_group(pid, signal.SIGKILL)
            due = None
        elif not why and (is_due or _asked):
            why, due = TIMEOUT if is_due else ASKED, time.monotonic() + GRACE_SECONDS
            processes.signal_group(pid, signal.SIGTERM)
        left = LOOK_SECONDS if due is None else min(LOOK_SECONDS, max(0.0, due - time.monotonic()))
        if select.select([wake], [], [], left)[0]:
            os.read(wake, 4096)


def write(path, content):
    """A file that is there whole or not at all; on a full disk it waits for room. Where the folder is gone nobody reads it."""
    while os.path.isdir(os.path.dirname(path)):  # noqa: PTH112
        try:
            with open(f"{path}.new", "w", encoding="utf-8") as file:
                file.write(content)
            os.replace(f"{path}.new", path)
        except OSError:
            time.sleep(1)
        else:
            return


def remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
