"""Reads Workbench's commands, `az ml computetarget attach` and `az ml experiment submit`, in scripts, batch files and pages.

A password is never taken."""

import re
import shlex
from collections.abc import Iterator

from azure_gpu.catalog.services.machine_learning.old_settings import COMPUTE_FILE
from azure_gpu.formats.likely_secrets import without_secrets
from azure_gpu.formats.old_machine_learning.project import Machine, Run, Setting

# `az ml computetarget attach remotedocker …` of 2018 and `… attach --type remotedocker` of 2017; lines may go on with \ ^ or `.
_COMMAND = re.compile(r"\baz\s+ml\s+(computetarget\s+attach|experiment\s+submit)\b([^\n]*(?:[\\^`]\n[^\n]*)*)")
_GOES_ON = re.compile(r"[\\^`]\s*\n")
_ATTACH = {
    "--name": "name",
    "-n": "name",
    "--address": "address",
    "-a": "address",
    "--username": "username",
    "-u": "username",
    "--password": "password",
    "-w": "password",
    "--type": "type",
    "-t": "type",
}


def has_commands(text: str) -> bool:
    """Whether one of the commands is in the text."""
    return bool(_COMMAND.search(text))


def read(text: str, file: str) -> tuple[tuple[Machine, ...], tuple[Run, ...]]:
    """All of them, in their order."""
    machines: list[Machine] = []
    runs: list[Run] = []
    for found in _COMMAND.finditer(text):
        at = f"{file}:{text.count(chr(10), 0, found.start()) + 1}"
        words = _words(found[2])
        if found[1].startswith("computetarget"):
            machines.append(_attached(words, at))
        else:
            runs += _submitted(words, at)
    return tuple(machines), tuple(runs)


def _words(rest: str) -> list[str]:
    lexer = shlex.shlex(_GOES_ON.sub(" ", rest), posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.escape = ""  # a path of Windows has backslashes
    try:
        return list(lexer)
    except ValueError:  # a quote that isn't closed
        return rest.split()


def _attached(words: list[str], at: str) -> Machine:
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in _ATTACH:
            options[_ATTACH[option]] = value if equals else next(rest, "")
        elif word in ("remotedocker", "cluster"):
            options["type"] = word
    settings = [
        Setting(f"{at}: {name}", name, "" if name == "password" else value, COMPUTE_FILE[name])
        for name, value in options.items()
        if name in COMPUTE_FILE
    ]
    return Machine(at, options.get("name", ""), options.get("type", ""), False, tuple(settings))


def _submitted(words: list[str], at: str) -> Iterator[Run]:
    target, script, arguments = "", "", list[str]()
    rest = iter(words)
    for word in rest:
        if script:
            arguments.append(word)
        elif word in ("-c", "-t", "--run-configuration"):
            target = next(rest, "")
        elif not word.startswith("-"):
            script = word
    if script:
        kept, secrets = without_secrets(arguments)
        yield Run(at, target, script, tuple(kept), (), tuple(secrets), "Python", "", ())
