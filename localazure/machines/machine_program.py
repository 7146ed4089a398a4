"""`docker` and `az` as a virtual machine's programs find them: clients of the embedded Azure, which reads their arguments.

Run as `python -I -S machine_program.py CONFIG NAME ARGUMENTS…` by the scripts in the machine's `bin`. Containers are processes
that the embedded Azure starts; their output is read from their logs, in which both streams are one.
"""

# ruff: noqa: PTH118, PTH120, PTH123 - a program that prints

import contextlib
import json
import os
import signal
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # started alone, it has only the standard library
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))

from localazure.containers.followed_log import FollowedLog

POLL_SECONDS = 0.1
REACH_SECONDS = 120.0  # for as long it tries, over a restart of the embedded Azure
DOCKER_FAILED = 125


class RefusedError(Exception):
    """The program ends with this message and exit code."""

    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


def main(config_file, name, arguments):
    with open(config_file, encoding="utf-8") as file:
        config = json.load(file)
    try:
        answer = ask(config, name, arguments, DOCKER_FAILED if (name, *arguments[:1]) == ("docker", "run") else 1)
    except RefusedError as error:
        sys.stderr.write(f"{error}\n")
        return error.code
    sys.stdout.write(answer["told"])
    return _to_its_end(config, answer) if "folder" in answer else 0


def ask(config, name, arguments, code=1):
    """What the embedded Azure answers to a program's arguments. RefusedError with its words."""
    content = json.dumps({"arguments": arguments, "environment": dict(os.environ)}).encode()
    request = urllib.request.Request(f"{config['url']}/{name}", content, {"Content-Type": "application/json"})  # noqa: S310
    tls = ssl.create_default_context(cafile=config["authorities"])
    deadline = time.monotonic() + REACH_SECONDS
    while True:
        try:
            with urllib.request.urlopen(request, context=tls) as response:  # noqa: S310 - the embedded Azure's address
                answer = json.loads(response.read())
            break
        except urllib.error.HTTPError as error:
            raise RefusedError(f"the embedded Azure answers {error.code}", code) from None
        except OSError as error:
            if time.monotonic() > deadline:
                raise RefusedError(f"the embedded Azure can't be reached: {error}", code) from None
            time.sleep(POLL_SECONDS)
    if "error" in answer:
        raise RefusedError(answer["error"], answer["code"])
    return answer


def _to_its_end(config, started):
    """Follows a container, which goes with its end, or with ours; its exit code."""

    def end(*_):
        ask(config, "docker", ["rm", started["name"]])

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    code = _follow(started["folder"])
    with contextlib.suppress(RefusedError):  # it was removed meanwhile
        end()
    return code


def _follow(folder):
    """Prints a container's output until it has ended; its exit code."""
    log = FollowedLog(Path(folder) / "log")
    while True:
        state: dict[str, Any] | None = _state(folder)
        ended = state is None or state["ended"]
        sys.stdout.buffer.write(log.read_on(ended=ended))
        sys.stdout.buffer.flush()
        if ended:
            return 137 if state is None else state["current"].get("exitCode", 128)
        time.sleep(POLL_SECONDS)


def _state(folder):
    try:
        with open(os.path.join(folder, "state.json"), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {"ended": False, "current": {}} if os.path.isdir(folder) else None  # noqa: PTH112


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
