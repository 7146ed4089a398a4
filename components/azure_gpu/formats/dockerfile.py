"""Reads Dockerfiles: the instructions of each stage, with line numbers.

Values stay as written: `$X`, `${X}` and `${X:-default}` are filled in by `substitute`, at build time, when the arguments are
known. Source: Docker's Dockerfile reference.

Not read, and rejected by name: ADD, HEALTHCHECK, MAINTAINER, ONBUILD, SHELL, STOPSIGNAL, VOLUME, here-documents, another escape
character."""

import json
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem

Command = str | tuple[str, ...]  # the shell form, or the exec form


class From(NamedTuple):
    line: int
    image: str
    name: str  # "" where the stage has none


class Arg(NamedTuple):
    line: int
    name: str
    default: str | None


class Env(NamedTuple):
    line: int
    values: tuple[tuple[str, str], ...]


class Workdir(NamedTuple):
    line: int
    path: str


class Copy(NamedTuple):
    line: int
    sources: tuple[str, ...]
    destination: str
    stage: str  # `--from`; "" copies out of the context
    flags: tuple[str, ...] = ()  # the others, such as --chown=app


class Run(NamedTuple):
    line: int
    command: Command
    flags: tuple[str, ...] = ()


class Entrypoint(NamedTuple):
    line: int
    command: Command


class Cmd(NamedTuple):
    line: int
    command: Command


class Note(NamedTuple):
    """USER, LABEL and EXPOSE: metadata of an image, which changes none of its files."""

    line: int
    keyword: str
    text: str


Instruction = Arg | Env | Workdir | Copy | Run | Entrypoint | Cmd | Note


class Stage(NamedTuple):
    start: From
    instructions: tuple[Instruction, ...]


class Dockerfile(NamedTuple):
    arguments: tuple[Arg, ...]  # those before the first FROM, which only FROM lines see
    stages: tuple[Stage, ...]


class _WrongError(Exception):
    """What is wrong with one instruction, and the likely fix."""


def parse(text: str, file: str = "Dockerfile") -> tuple[Dockerfile, list[Problem]]:
    """All stages and every problem; each problem's path is `file:line`."""
    problems: list[Problem] = []
    arguments: list[Arg] = []
    stages: list[tuple[From, list[Instruction]]] = []
    for line, logical in _logical_lines(text):
        try:
            instruction = _instruction(line, logical)
            if isinstance(instruction, From):
                stages.append((instruction, []))
            elif stages:
                stages[-1][1].append(instruction)
            elif isinstance(instruction, Arg):
                arguments.append(instruction)
            else:
                raise _WrongError("only ARG may stand before the first FROM", "start with FROM")
        except _WrongError as wrong:
            message, fix = wrong.args
            problems.append(Problem(f"{file}:{line}", message, logical, fix=fix))
    if not stages and not problems:
        problems.append(Problem(f"{file}:1", "FROM is missing", fix="start with FROM"))
    return Dockerfile(tuple(arguments), tuple(Stage(start, tuple(body)) for start, body in stages)), problems


_VARIABLE = re.compile(r"\\\$|\$(?:(\w+)|\{(\w+)(?::([-+])([^{}]*))?\})")


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """Fills in `$X`, `${X}`, `${X:-where X is empty}`, `${X:+where it isn't}`. A name that isn't set is empty; `\\$` is `$`."""

    def value(match: re.Match[str]) -> str:
        if match[0] == r"\$":
            return "$"
        known = variables.get(match[1] or match[2], "")
        if match[3] == "-":
            return known or substitute(match[4], variables)
        if match[3] == "+":
            return substitute(match[4], variables) if known else ""
        return known

    return _VARIABLE.sub(value, text)


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Instructions with the line each starts on; comments and empty lines are left out, also inside a continued instruction."""
    found: list[tuple[int, str]] = []
    parts: list[str] = []
    start = 0
    for number, raw in enumerate(text.splitlines(), 1):
        stripped = raw.strip()
        if stripped.startswith("#") or not stripped:
            if re.fullmatch(r"#\s*escape\s*=\s*[^\\\s]\s*", stripped) and not found:
                found.append((number, f"ESCAPE {stripped[-1]}"))
            continue
        if not parts:
            start = number
        continued = stripped.endswith("\\")
        parts.append(stripped[:-1].rstrip() if continued else stripped)
        if not continued:
            found.append((start, " ".join(parts)))
            parts = []
    if parts:
        found.append((start, " ".join(parts)))
    return found


def _instruction(line: int, logical: str) -> From | Instruction:
    word, _, rest = logical.partition(" ")
    keyword, rest = word.upper(), rest.strip()
    reader = _READERS.get(keyword)
    if reader is None:
        raise _WrongError(f"the instruction {word} isn't read here", f"use one of {', '.join(sorted(_READERS))}")
    if not rest:
        raise _WrongError(f"{keyword} has no argument", "")
    return reader(line, rest)


def _from(line: int, rest: str) -> From:
    words = [word for word in rest.split() if not word.startswith("--platform=")]
    if len(words) == 1:
        return From(line, words[0], "")
    if len(words) == 3 and words[1].upper() == "AS":
        return From(line, words[0], words[2].lower())
    raise _WrongError("FROM takes an image, and may name the stage", "write FROM image AS name")


def _arg(line: int, rest: str) -> Arg:
    name, equals, default = rest.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise _WrongError("ARG takes one name", "write ARG NAME or ARG NAME=default, one to a line")
    return Arg(line, name, _unquoted(default) if equals else None)


_PAIR = re.compile(r"""([A-Za-z_][\w.-]*)=((?:"(?:\\.|[^"\\])*"|'[^']*'|\\(?:.|$)|[^\s"'\\])*)(?:\s+|$)""")


def _env(line: int, rest: str) -> Env:
    if "=" not in rest.split()[0]:  # the old form: ENV NAME everything behind it
        name, _, value = rest.partition(" ")
        return Env(line, ((name, value.strip()),))
    values: list[tuple[str, str]] = []
    at = 0
    while at < len(rest):
        match = _PAIR.match(rest, at)
        if match is None:
            raise _WrongError(f"ENV can't be read from {rest[at:]!r} on", "write NAME=value, with quotes round white space")
        values.append((match[1], _unquoted(match[2])))
        at = match.end()
    return Env(line, tuple(values))


def _unquoted(text: str) -> str:
    """The value without its quotes. A backslash before a dollar stays, because `substitute` reads it."""

    def inside(match: re.Match[str]) -> str:
        if match[1] is not None:
            return re.sub(r'\\(["\\])', r"\1", match[1])
        if match[2] is not None:
            return match[2].replace("$", r"\$")
        return match[0] if match[3] == "$" else match[3]

    return re.sub(r"""\"((?:\\.|[^"\\])*)\"|'([^']*)'|\\(.)""", inside, text)


def _copy(line: int, rest: str) -> Copy:
    flags, rest = _flags(rest)
    words = _exec_form(rest) if rest.startswith("[") else tuple(rest.split())
    stage = "".join(flag.removeprefix("--from=") for flag in flags if flag.startswith("--from="))
    others = tuple(flag for flag in flags if not flag.startswith("--from="))
    if len(words) < 2:
        raise _WrongError("COPY takes at least one source and a destination", "write COPY source destination")
    if words[0].startswith("<<"):
        raise _WrongError("here-documents aren't read here", "copy a file of the context")
    return Copy(line, words[:-1], words[-1], stage.lower(), others)


_HERE = re.compile(r"""\d*<<-?(["']?)[A-Za-z_]\w*\1""")  # a word of a command, as BuildKit's parser has it


def _run(line: int, rest: str) -> Run:
    flags, rest = _flags(rest)
    if not rest.startswith("[") and any(_HERE.fullmatch(word) for word in rest.split()):
        raise _WrongError("here-documents aren't read here", "join the commands with &&")
    return Run(line, _command(rest), flags)


def _flags(rest: str) -> tuple[tuple[str, ...], str]:
    flags: list[str] = []
    while rest.startswith("--"):
        flag, _, rest = rest.partition(" ")
        flags.append(flag)
        rest = rest.strip()
    return tuple(flags), rest


def _command(rest: str) -> Command:
    return _exec_form(rest) if rest.startswith("[") else rest


def _exec_form(rest: str) -> tuple[str, ...]:
    fix = 'write ["command", "argument"]'
    try:
        words = json.loads(rest)
    except json.JSONDecodeError as error:
        raise _WrongError(f"the list isn't valid JSON: {error.msg} at character {error.pos + 1}", fix) from error
    except (ValueError, RecursionError):  # a number of thousands of digits, or lists in lists without end
        raise _WrongError("the list can't be read", fix) from None
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise _WrongError("the list has to hold text only, at least one word", fix)
    if any("\ud800" <= character <= "\udfff" for character in "".join(words)):
        raise _WrongError("an escape in the list is half of a character", "write the character itself")
    return tuple(str(word) for word in words)


_READERS: dict[str, Callable[[int, str], From | Instruction]] = {
    "FROM": _from,
    "ARG": _arg,
    "ENV": _env,
    "WORKDIR": lambda line, rest: Workdir(line, _unquoted(rest)),
    "COPY": _copy,
    "RUN": _run,
    "ENTRYPOINT": lambda line, rest: Entrypoint(line, _command(rest)),
    "CMD": lambda line, rest: Cmd(line, _command(rest)),
    "USER": lambda line, rest: Note(line, "USER", rest),
    "LABEL": lambda line, rest: Note(line, "LABEL", rest),
    "EXPOSE": lambda line, rest: Note(line, "EXPOSE", rest),
}
