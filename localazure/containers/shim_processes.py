"""What a shim does with processes: the lock of its folder, the time of day, whose id a process is, signals, becoming a program.

Standard library only, and little of it: every container has a shim.
"""

# ruff: noqa: PTH123, S606, SIM105 - pathlib and contextlib would cost every container their memory

import errno
import fcntl
import os
import signal
import time

LOCK_TRIES = 20


def take_lock():
    """Takes the lock of the working folder for as long as this process lives, and writes its id there. False: another has it."""
    lock = os.open("lock", os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(LOCK_TRIES):  # a check whether a shim lives holds it for an instant, so one refusal isn't final
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.01)
        else:
            os.truncate(lock, 0)
            os.write(lock, str(os.getpid()).encode())
            return True
    return False


def now():
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1_000_000):06d}Z"


def start_time(pid):
    """When a process started, so that a reused id isn't taken for it; "" where that can't be read (there is no /proc)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def signal_group(pid, number):
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def exit_code(status):
    """As a shell counts: a signal is 128 and its number."""
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def begin(writer):
    """In a child: a separate session, no handlers of the shim's, standard input empty, output into the pipe."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(writer, 1)
    os.dup2(writer, 2)


def become(argv, environment, folder):
    """The child's end as this program: it runs `argv`, or says why it can't and exits with 127 or 126, as a shell does."""
    try:
        if not argv:
            raise ValueError("neither the container nor its image names a command")
        os.chdir(folder)
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        os.write(2, f"exec {argv[0]}: {error.strerror}\n".encode())
        os._exit(127 if error.errno == errno.ENOENT else 126)
    except ValueError as error:  # a command or a variable that no process can be given
        os.write(2, f"exec: {error}\n".encode("utf-8", errors="replace"))
        os._exit(126)
