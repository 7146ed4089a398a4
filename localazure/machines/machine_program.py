"""`docker`, `az`, `shutdown` and their like as a virtual machine's programs find them: clients of the embedded Azure.

Run as `python -I -S machine_program.py CONFIG NAME ARGUMENTS…` by the scripts in the machine's `bin`. Of docker it knows
pull, run, ps, logs, wait, stop, kill, rm, images, login, logout, info and version; of az `login --identity`, `account show`,
`acr login` and `logout`; the rest is refused explicitly. Containers are processes that the embedded Azure starts; their output
is read from their logs, in which both streams are one.
"""

# ruff: noqa: PTH118, PTH120, PTH123 - a program that prints

import json
import os
import signal
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

if __name__ == "__main__":  # started alone, it has only the standard library
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))

from localazure.containers.followed_log import FollowedLog
from localazure.containers.shim_log import STAMP

POLL_SECONDS = 0.1
REACH_SECONDS = 120.0  # for as long it tries, over a restart of the embedded Azure
DOCKER_FAILED = 125
_FLAGS = {"--rm", "-i", "--interactive", "-t", "--tty", "-it", "-ti", "--init", "--privileged", "--read-only", "-q", "--quiet"}
_WITH_VALUE = {  # whose value changes nothing here
    "--cap-add", "--cpus", "--cpuset-cpus", "--device", "--hostname", "-h", "--ipc", "--label", "-l", "--log-driver", "--log-opt",
    "--memory", "-m", "--memory-swap", "--net", "--network", "--pid", "--platform", "-p", "--publish", "--pull", "--security-opt",
    "--shm-size", "--stop-timeout", "--tmpfs", "--ulimit", "-u", "--user",
}  # fmt: skip
_LONG = {"-d": "--detach", "-e": "--env", "-v": "--volume", "-w": "--workdir"}
_MEANT = {"--env", "--env-file", "--volume", "--mount", "--workdir", "--entrypoint", "--name", "--gpus", "--runtime", "--restart"}


class RefusedError(Exception):
    """The program ends with this message and exit code."""

    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


def main(config_file, name, arguments):
    with open(config_file, encoding="utf-8") as file:
        azure = Azure(json.load(file))
    try:
        return {"docker": docker, "az": az}.get(name, power)(azure, name, arguments)
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


def power(azure, name, arguments):
    """`shutdown -c` and the times of the real one are not known: it happens at once."""
    again = name == "reboot" or "-r" in arguments or "--reboot" in arguments
    azure.ask("power", {"do": "restart" if again else "off"})
    return 0


# az


def az(azure, _, arguments):
    words = [one for one in arguments if not one.startswith("-")]
    options = _options_of(arguments)
    match words[:2]:
        case ["login", *_] if "--identity" in arguments or "-i" in arguments:
            chosen = next(
                (options[one] for one in ("--client-id", "--object-id", "--resource-id", "--username", "-u") if one in options),
                "",
            )
            print(json.dumps(azure.ask("az", {"do": "login", "identity": chosen}), indent=2))
        case ["account", "show"]:
            print(json.dumps(azure.ask("az", {"do": "show"}), indent=2))
        case ["acr", "login"]:
            azure.ask("az", {"do": "acr", "registry": options.get("--name") or options.get("-n") or ""})
            print("Login Succeeded")
        case ["logout", *_]:
            azure.ask("az", {"do": "logout"})
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


def docker(azure, _, arguments):
    while arguments and arguments[0] in ("container", "image"):
        arguments = arguments[1:]
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    commands = {
        "pull": _pull,
        "run": _run,
        "ps": _ps,
        "ls": _ps,
        "logs": _logs,
        "wait": _wait,
        "stop": _stop,
        "kill": _stop,
        "rm": _remove,
        "images": _images,
        "login": _login,
        "logout": lambda azure, rest: _say(azure.ask("docker", {"do": "logout", "server": (rest or [""])[0]}, 1)),
        "info": lambda *_: _say({"told": "Server: acted out by the embedded Azure\n Runtimes: nvidia runc"}),
        "version": lambda *_: _say({"told": "Docker acted out by the embedded Azure"}),
        "--version": lambda *_: _say({"told": "Docker acted out by the embedded Azure"}),
    }
    if command not in commands:
        raise RefusedError(f"docker: the embedded Azure acts out {', '.join(sorted(commands))}, and not '{command}'")
    return commands[command](azure, rest)


def _say(answer):
    print(answer.get("told", ""))
    return 0


def _names(rest, least=1):
    names, words = [], list(rest)
    while words:
        word = words.pop(0)
        if word in ("-t", "--time", "-s", "--signal") and words:
            words.pop(0)
        elif not word.startswith("-"):
            names.append(word)
    if len(names) < least:
        raise RefusedError("docker: this command needs a name")
    return names


def _pull(azure, rest):
    for image in _names(rest):
        print(azure.ask("docker", {"do": "pull", "image": image})["told"])
    return 0


def _run(azure, rest):
    requested, detached, removed = _run_options(rest)
    started = azure.ask("docker", {"do": "run", **requested}, DOCKER_FAILED)
    if detached:
        print(started["id"])
        return 0
    name = started["name"]

    def end(*_):
        azure.ask("docker", {"do": "stop", "name": name})

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    code = _follow(started["folder"])
    if removed:
        azure.ask("docker", {"do": "rm", "name": name, "force": True})
    return code


def _run_options(rest):
    """What is asked of the embedded Azure, whether it runs in the background, and whether it is removed afterwards."""
    requested = {"env": {}, "mounts": [], "gpus": "", "name": "", "workdir": "", "entrypoint": None, "restart": "no"}
    detached = removed = False
    words = list(rest)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        name, joined, value = word.partition("=")
        name = _LONG.get(name, name)
        if name == "--detach":
            detached = True
            continue
        if name in _FLAGS:
            removed = removed or name == "--rm"
            continue
        if name not in _WITH_VALUE | _MEANT:
            raise RefusedError(f"docker: the embedded Azure does not implement the option {name}", DOCKER_FAILED)
        if not joined:
            if not words:
                raise RefusedError(f"flag needs an argument: {name}", DOCKER_FAILED)
            value = words.pop(0)
        if name in _MEANT:
            _meant(requested, name, value)
    if not words:
        raise RefusedError('"docker run" requires at least 1 argument.', DOCKER_FAILED)
    requested["image"], requested["command"] = words[0], words[1:]
    return requested, detached, removed


def _meant(requested, name, value):
    match name:
        case "--env":
            variable, given, content = value.partition("=")
            if given or variable in os.environ:
                requested["env"][variable] = content if given else os.environ[variable]
        case "--env-file":
            with open(value, encoding="utf-8") as file:
                lines = [line.strip() for line in file]
            for line in lines:
                if line and not line.startswith("#"):
                    _meant(requested, "--env", line)
        case "--volume":
            parts = value.split(":")
            if len(parts) < 2:
                raise RefusedError(f"docker: a volume without a source is not implemented: {value}", DOCKER_FAILED)
            requested["mounts"].append([_source(parts[0]), parts[1]])
        case "--mount":
            fields = dict(one.partition("=")[::2] for one in value.split(","))
            source = fields.get("source") or fields.get("src") or ""
            requested["mounts"].append(
                [_source(source), fields.get("target") or fields.get("destination") or fields.get("dst") or ""]
            )
        case "--runtime":
            requested["gpus"] = requested["gpus"] or ("runtime" if value == "nvidia" else "")
        case _:
            requested[name[2:]] = value


def _source(path):
    return os.path.abspath(path) if path.startswith((".", "/")) else path  # noqa: PTH100


def _follow(folder):
    """Prints a container's output until it has ended; its exit code."""
    log = FollowedLog(Path(folder) / "log")
    while True:
        state = _state(folder)
        ended = state is None or state["ended"]
        _print(log.read_on())
        if ended:
            _print(_unfinished(folder))
            return 137 if state is None else state["current"].get("exitCode", 128)
        time.sleep(POLL_SECONDS)


def _unfinished(folder):
    """The last line of a log where no line feed ends it."""
    try:
        with open(os.path.join(folder, "log"), "rb") as file:
            return file.read().rpartition(b"\n")[2][STAMP:]
    except FileNotFoundError:
        return b""


def _print(content):
    if content:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def _state(folder):
    try:
        with open(os.path.join(folder, "state.json"), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {"ended": False, "current": {}} if os.path.isdir(folder) else None  # noqa: PTH112


def _ps(azure, rest):
    every = any(one in ("-a", "--all", "-aq", "-qa") for one in rest)
    found = [one for one in azure.ask("docker", {"do": "list"})["containers"] if every or one["running"]]
    if any(one in ("-q", "--quiet", "-aq", "-qa") for one in rest):
        for one in found:
            print(one["id"][:12])
        return 0
    print(f"{'CONTAINER ID':<15}{'IMAGE':<50}{'STATUS':<28}NAMES")
    for one in found:
        print(f"{one['id'][:12]:<15}{one['image'][:48]:<50}{one['status']:<28}{one['name']}")
    return 0


def _one(azure, name):
    for each in azure.ask("docker", {"do": "list"})["containers"]:
        if each["name"] == name or (len(name) > 3 and each["id"].startswith(name)):
            return each
    raise RefusedError(f"Error response from daemon: No such container: {name}")


def _logs(azure, rest):
    (name,) = _names(rest)[-1:]
    found = _one(azure, name)
    if any(one in ("-f", "--follow") for one in rest):
        _follow(found["folder"])
    else:
        _print(FollowedLog(Path(found["folder"]) / "log").read_on() + _unfinished(found["folder"]))
    return 0


def _wait(azure, rest):
    for name in _names(rest):
        folder = _one(azure, name)["folder"]
        while (state := _state(folder)) is not None and not state["ended"]:
            time.sleep(POLL_SECONDS)
        print(137 if state is None else state["current"].get("exitCode", 128))
    return 0


def _stop(azure, rest):
    for name in _names(rest):
        azure.ask("docker", {"do": "stop", "name": _one(azure, name)["name"]})
        print(name)
    return 0


def _remove(azure, rest):
    for name in _names(rest):
        forced = any(one in ("-f", "--force") for one in rest)
        azure.ask("docker", {"do": "rm", "name": _one(azure, name)["name"], "force": forced})
        print(name)
    return 0


def _images(azure, _):
    print(f"{'REPOSITORY':<60}{'IMAGE ID':<15}")
    for name, digest in azure.ask("docker", {"do": "images"})["images"]:
        print(f"{name:<60}{digest[7:19]:<15}")
    return 0


def _login(azure, rest):
    options = _options_of(rest)
    user = options.get("--username") or options.get("-u") or ""
    password = options.get("--password") or options.get("-p") or ""
    if "--password-stdin" in rest:
        password = sys.stdin.read().strip()
    values = {options.get(one) for one in ("--username", "-u", "--password", "-p")}
    servers = [one for one in rest if not one.startswith("-") and one not in values]
    azure.ask("docker", {"do": "login", "server": servers[-1] if servers else "", "username": user, "password": password})
    print("Login Succeeded")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
