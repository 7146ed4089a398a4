"""Parses RUN instructions before anything of them runs.

A step installs packages, builds a program, only reads, or is skipped with the reason. Everything else is refused, because there
is no sandbox that it could run in.
"""

import os
import re
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from azure_gpu.formats.dockerfile import Command, substitute

_KNOWN = tomllib.loads(Path(__file__).with_name("run_lines.toml").read_text("utf-8"))
_SORT_READS = re.compile(r"-[bdfghinMruVz]+")  # options without a value; -o and --compress-program would write or run
_HASHES = re.compile(r"(-[0r]+ )*sha256sum( |$)")  # all that xargs may run
# What find may be told: tests that read, and paths and patterns, none of which can become `-delete` or `-exec` by quotes,
# variables or files that are called so.
_FIND_READS = re.compile(
    r"-(type|i?name|i?path|maxdepth|mindepth|size|empty|print0?|xdev|not|o|a)|[\w./][\w./*-]*|\"[\w.*/][\w.*/?-]*\"|'[\w.*/][\w.*/?-]*'"
)


INSTALL, PROGRAM, MAKE_FOLDERS, CHECK, SKIP = "install", "program", "make folders", "check", "skip"


class Step(NamedTuple):
    """What is done: `pip install -r FILE…` with those of pip's options that change what is installed; a program; folders that are
    made; a line of the shell that only reads files, run as it stands; or nothing, with the reason."""

    do: str
    words: tuple[str, ...]
    more: tuple[str, ...] = ()  # pip's options, or the reason


class NotImitatedError(Exception):
    """A command that nothing here stands for."""


def steps(command: Command, variables: Mapping[str, str]) -> list[Step]:
    """The steps of one RUN, in order. NotImitatedError names the first command that is refused; then none has been run."""
    if not isinstance(command, str):
        return [_step(list(command))]
    if _only_reads(command):
        return [Step(CHECK, (command,))]
    return [step for words in _simple_commands(command, variables) for step in [_step(words)] if words]


def _only_reads(text: str) -> bool:
    """Whether a shell line is made of programs that can't change a file. A command's name stands first or follows an operator."""
    plain = text.replace(">&2", " ")
    if re.search(r"[`<>\\\n]|(?<!&)&(?!&)", plain):
        return False
    outside = re.sub(r'"\$\(|\$\(|\)"|\)|\{ |\}|\|\||&&|\||;', " \0 ", plain)
    heads = [part.split() for part in outside.split("\0") if part.split()]
    for words in heads:
        while words and re.fullmatch(r"\w+=\S*", words[0]):
            words = words[1:]
        if not words or words[0] in ("=", "!="):  # what follows a closed `$(…)`
            continue
        if words[0] not in _KNOWN["readers"]:
            return False
        if words[0] == "sort" and not all(_SORT_READS.fullmatch(word) for word in words[1:]):
            return False
        if words[0] == "find" and not all(_FIND_READS.fullmatch(word) for word in words[1:]):
            return False
        if words[0] == "xargs" and not _HASHES.match(" ".join(words[1:])):
            return False
    return bool(heads) and heads[0][0] in ("test", "[")


def _simple_commands(text: str, variables: Mapping[str, str]) -> list[list[str]]:
    counted = text.replace("$(nproc)", str(os.cpu_count() or 1))  # the one substitution that nearly every build uses
    lexer = shlex.shlex(substitute(counted, variables), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word in ("&&", ";"):
                commands.append([])
            elif set(word) <= set("();<>|&") or "`" in word or "$(" in word:
                raise NotImitatedError(f"the shell's {word!r} isn't imitated: write simple commands joined by &&")
            else:
                commands[-1].append(word)
    except ValueError as error:
        raise NotImitatedError(f"the command can't be read: {str(error).lower()}") from error
    return [words for words in commands if words]


def _step(words: list[str]) -> Step:
    shown = shlex.join(words)
    name = words[0]
    if name in _KNOWN["skipped"]:
        return Step(SKIP, (shown,), (_KNOWN["skipped"][name],))
    if name == "rm" and all(word.startswith(("-", *_KNOWN["package_caches"])) for word in words[1:]):
        return Step(SKIP, (shown,), ("there is no package cache in this image",))
    if name == "set" and all(word.startswith(("-", "+")) for word in words[1:]):
        return Step(SKIP, (shown,), ("a failing command always ends the build",))
    if name == "mkdir":
        return Step(MAKE_FOLDERS, tuple(word for word in words[1:] if not word.startswith("-")))
    if name in ("pip", "pip3") or words[1:3] == ["-m", "pip"]:
        return _install(words[1:] if name.startswith("pip") else words[3:], shown)
    if name in _KNOWN["builders"]:
        return Step(PROGRAM, tuple(words))
    raise NotImitatedError(f"{name} isn't imitated")


def _install(words: list[str], shown: str) -> Step:
    if words[:1] != ["install"]:
        raise NotImitatedError(f"{shown} isn't imitated: only pip install is")
    files: list[str] = []
    options: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        if word in ("-r", "--requirement"):
            files.append(next(rest, ""))
        elif word in _KNOWN["pip"]["kept"]:
            options.append(word)
        elif word not in _KNOWN["pip"]["without_meaning"]:
            raise NotImitatedError(f"pip install {word} isn't imitated: list the packages in a file and install it with -r")
    if not files or not all(files):
        raise NotImitatedError("pip install without -r FILE isn't imitated: list the packages in a file")
    return Step(INSTALL, tuple(files), tuple(options))
