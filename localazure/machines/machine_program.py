"""`docker` and `az` as a virtual machine's programs find them: clients of the embedded Azure.

Run as `python -I -S machine_program.py CONFIG NAME ARGUMENTS…` by the scripts in the machine's `bin`. Of docker it knows `pull`,
`run --rm` and `rm`, of az `login --identity` and `acr login`, as a run on a machine sends them; the rest is refused explicitly.
Containers are processes that the embedded Azure starts; their output is read from their logs, in which both streams are one.
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
_FLAGS = ("--rm", "-i", "--interactive", "-t", "--tty", "-it", "-q", "--quiet")


class RefusedError(Exception):
    """The program ends with this message and exit code."""

    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


def main(config_file, name, arguments):
    with open(config_file, encoding="utf-8") as file:
        azure = Azure(json.load(file))
    try:
        return {"docker": docker, "az": az}[name](azure, arguments)
    except RefusedError as error:
        sys.stderr.write(f"{error}\n")
        return error.code


class Azure:
    """The embedded Azure, for this machine."""

    def __init__(self, config):
        self.root = config["root"]
        self._url = config["url"]
        self._tls = ssl.create_default_context(cafile=config["authorities"])

    def ask(self, what, body, code=1):
        """What it answers. RefusedError with its words."""
        request = urllib.request.Request(  # noqa: S310 - the address is the embedded Azure's
            f"{self._url}/{what}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        deadline = time.monotonic() + REACH_SECONDS
        while True:
            try:
                with urllib.request.urlopen(request, context=self._tls) as response:  # noqa: S310
                    answer = json.loads(response.read())
                break
            except urllib.error.HTTPError as error:
                raise RefusedError(f"the embedded Azure answers {error.code}", code) from None
            except OSError as error:
                if time.monotonic() > deadline:
                    raise RefusedError(f"the embedded Azure can't be reached: {error}", code) from None
                time.sleep(POLL_SECONDS)
        if "error" in answer:
            raise RefusedError(answer["error"], answer.get("code", code))
        return answer


# az


def az(azure, arguments):
    words = [one for one in arguments if not one.startswith("-")]
    options = _options_of(arguments)
    match words[:2]:
        case ["login", *_] if "--identity" in arguments or "-i" in arguments:
            chosen = next(
                (options[one] for one in ("--client-id", "--object-id", "--resource-id", "--username", "-u") if one in options),
                "",
            )
            print(json.dumps(azure.ask("az", {"do": "login", "identity": chosen}), indent=2))
        case ["acr", "login"]:
            azure.ask("az", {"do": "acr", "registry": options.get("--name") or options.get("-n") or ""})
            print("Login Succeeded")
        case _:
            shown = " ".join(words[:2]) or "az without a command"
            raise RefusedError(
                f"the embedded Azure acts out 'az login --identity' and 'az acr login' on machines, not '{shown}'", 2
            )
    return 0


def _options_of(arguments):
    found = {}
    for number, word in enumerate(arguments):
        name, joined, value = word.partition("=")
        if word.startswith("-"):
            found[name] = value if joined else (arguments[number + 1] if number + 1 < len(arguments) else "")
    return found


# docker


def docker(azure, arguments):
    commands = {"pull": _pull, "run": _run, "rm": _remove}
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command not in commands:
        raise RefusedError(f"docker: the embedded Azure acts out {', '.join(commands)}, and not '{command}'")
    return commands[command](azure, rest)


def _pull(azure, rest):
    for image in (one for one in rest if not one.startswith("-")):
        print(azure.ask("docker", {"do": "pull", "image": image})["told"])
    return 0


def _run(azure, rest):
    started = azure.ask("docker", {"do": "run", **_run_options(rest)}, DOCKER_FAILED)
    name = started["name"]

    def end(*_):
        azure.ask("docker", {"do": "rm", "name": name})

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    code = _follow(started["folder"])
    with contextlib.suppress(RefusedError):  # it was removed meanwhile
        end()
    return code


def _run_options(rest):
    """What is asked of the embedded Azure."""
    requested = {"env": {}, "gpus": "", "name": ""}
    words = list(rest)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        name, joined, value = word.partition("=")
        if name in _FLAGS:
            continue
        if name not in ("-e", "--env", "--gpus", "--name"):
            raise RefusedError(f"docker: the embedded Azure does not implement the option {name}", DOCKER_FAILED)
        if not joined and not words:
            raise RefusedError(f"flag needs an argument: {name}", DOCKER_FAILED)
        value = value if joined else words.pop(0)
        variable, given, content = value.partition("=")
        if name in ("--gpus", "--name"):
            requested[name[2:]] = value
        elif given or variable in os.environ:
            requested["env"][variable] = content if given else os.environ[variable]
    if requested["gpus"] not in ("", "all"):
        raise RefusedError(f"docker: the embedded Azure does not implement --gpus {requested['gpus']}", DOCKER_FAILED)
    if not words:
        raise RefusedError('"docker run" requires at least 1 argument.', DOCKER_FAILED)
    return {**requested, "image": words[0], "command": words[1:]}


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


def _remove(azure, rest):
    for name in (one for one in rest if not one.startswith("-")):
        azure.ask("docker", {"do": "rm", "name": name})
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
