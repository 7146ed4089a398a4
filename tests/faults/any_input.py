"""Stack files that are made up, or broken by a seed: each is read, planned and judged as the program does, and never crashes.

Each input runs in a forked process together with a few others; where one of these takes more than it may, each runs alone. In: a
seed and numbers. Out: the inputs that ended with a trace, or took more than `CPU_SECONDS` or a process of more than `PEAK_MB`.
"""

import gc
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import Template
from typing import Any, NoReturn, get_origin, is_typeddict

import yaml

from azure_gpu.formats import stack_file
from azure_gpu.shared.validation import below, choices, form, is_map, key_hints
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.settings import PROJECT, read
from tests.components.recorded_bodies import CONNECTED, EXAMPLE_VALUES, EXAMPLES
from tests.components.recording import STACK
from tests.components.settings_of import TODAY, configuration, pure_problems
from tests.components.stack.test_any_settings import SOME_NAMES, SOME_NUMBERS, SOME_TEXTS
from tests.support.embedded import CHECKOUT
from tests.support.happy_cases import CASES

CPU_SECONDS = 2.0
PEAK_MB = 200.0
KINDS = ("generated", "mutated")
_TOGETHER = 100  # inputs of one process
_HANGS_SECONDS = 120  # of wall-clock time, for one input
_NUMBERS = (*SOME_NUMBERS, 10**400, 0.5, -0.0, 1.7e308, 1e-300)
_MARKS = (
    "\t",
    "\0",
    "&a ",
    "*a",
    "!!python/object:os.system ",
    "? ",
    "|\n",
    ">-",
    "<<: *a",
    "{",
    "]",
    "'",
    '"',
    ": ",
    "- ",
    "#",
    "\ufeff",
    "%",
)
# Written in C where there is that, since files are broken in thousands.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LEFT_OUT = ("file", "existing")  # keys that have files and Azure read


@dataclass(frozen=True, slots=True)
class Failed:
    """An input that did what none may."""

    kind: str
    number: int
    why: str


def run(seed: int, numbers: Mapping[str, int], jobs: int) -> Iterator[tuple[int, list[Failed]]]:
    """Every input, a few at a time: how many were run, and those that failed."""
    for text in _bases():  # so that what is read and computed once isn't in every process
        _judged(text)
    made("generated", seed, 0)
    gc.collect()
    gc.freeze()
    waiting = [
        (kind, range(at, min(at + _TOGETHER, number))) for kind, number in numbers.items() for at in range(0, number, _TOGETHER)
    ]
    waiting.reverse()
    running: dict[int, tuple[str, range, int]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            kind, part = waiting.pop()
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(reading)
                _in_child(seed, kind, part, writing)
            os.close(writing)
            running[pid] = (kind, part, reading)
        pid, status, used = os.wait4(-1, 0)
        if pid not in running:
            continue
        kind, part, reading = running.pop(pid)
        with os.fdopen(reading, encoding="utf-8") as answer:
            said = answer.read()
        found = [Failed(kind, *each) for each in json.loads(said)] if said else []
        peak = used.ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
        if len(part) > 1 and (not said or peak > PEAK_MB):
            waiting += [(kind, range(each, each + 1)) for each in part]
            continue
        if not said:
            found = [Failed(kind, part[0], f"its process ended with {os.waitstatus_to_exitcode(status)}")]
        elif peak > PEAK_MB:
            found.append(Failed(kind, part[0], f"its process took {peak:.0f} MB"))
        yield len(part), found


def made(kind: str, seed: int, number: int) -> str:
    """The text of one stack file, by its seed and number."""
    chance = random.Random(f"{seed}/{kind}/{number}")
    if kind == "generated":
        said = next(value for _ in iter(int, 1) if isinstance(value := _value(StackFile, chance), dict))
        given = {"team": "vision", "location": "eastus", **said}
        return json.dumps({"config": {f"azure-gpu:{key}": value for key, value in given.items()}})
    return _mutated(chance.choice(_bases()), chance)


def _judged(text: str) -> None:
    """As the program reads and judges a file. Raises what a user would see as a trace."""
    try:
        given = stack_file.configuration(text)
    except stack_file.StackFileError:
        return
    problems = pure_problems(read({**CONNECTED, **given}, TODAY), PROJECT, STACK)
    if not all(problem.path and problem.message and str(problem) for problem in problems):
        raise ValueError("a problem says nothing")


def _in_child(seed: int, kind: str, part: Sequence[int], writing: int) -> NoReturn:
    found: list[tuple[int, str]] = []
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in part:
        signal.alarm(_HANGS_SECONDS)  # which ends the process
        text = made(kind, seed, number)
        began = time.process_time()
        try:
            _judged(text)
        except BaseException as error:  # noqa: BLE001  whatever it raises would be a trace
            place = traceback.extract_tb(error.__traceback__)[-1]
            why = "".join(traceback.format_exception_only(error)).strip()[:300]
            found.append((number, f"{why} ({place.filename.removeprefix(f'{CHECKOUT}/')}:{place.lineno})"))
        if (took := time.process_time() - began) > CPU_SECONDS:
            found.append((number, f"it took {took:.1f} s"))
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(found))
    os._exit(0)


def _value(annotation: Any, chance: random.Random) -> Any:
    """A value that the annotation takes, and now and then any other."""
    if chance.random() < 0.02:
        return _any(chance)
    inner = form(annotation)
    if is_typeddict(inner):
        keys = {key: hint for key, hint in key_hints(inner).items() if key not in _LEFT_OUT}
        # Most keys are left out, so that what is there isn't always refused for what stands beside it.
        optional = sorted(set(keys) - inner.__required_keys__)
        chosen = [*inner.__required_keys__, *chance.sample(optional, min(len(optional), chance.randint(0, 5)))]
        return {key: _value(keys[key], chance) for key in sorted(chosen) if key in keys}
    if is_map(annotation):
        return {chance.choice(SOME_NAMES): _value(below(annotation, "name"), chance) for _ in range(chance.randint(0, 2))}
    if get_origin(inner) is Sequence:
        return [_value(below(annotation, 0), chance) for _ in range(chance.randint(0, 2))]
    if inner is bool:
        return chance.random() < 0.5
    if inner in (int, float):
        return chance.choice(_NUMBERS)
    if allowed := choices(inner):
        return chance.choice(allowed)
    return chance.choice(SOME_TEXTS) if inner is str else _any(chance)


def _any(chance: random.Random) -> Any:
    match chance.randint(0, 5):
        case 0:
            return {chance.choice(SOME_NAMES): _any(chance) for _ in range(chance.randint(0, 2))}
        case 1:
            return [_any(chance) for _ in range(chance.randint(0, 2))]
        case 2:
            return chance.choice((None, True, False))
        case 3:
            return chance.choice(_NUMBERS)
        case _:
            return chance.choice(SOME_TEXTS)


@cache
def _bases() -> tuple[str, ...]:
    """Stack files that are right: shipped ones, examples, and the cases of the tests."""
    shipped = [path.read_text() for path in sorted(CHECKOUT.glob("Pulumi.*.yaml"))]
    examples = [Template(path.read_text()).substitute(EXAMPLE_VALUES) for path in sorted(EXAMPLES.glob("*/stack.yaml"))]
    cases = [
        yaml.safe_dump({"config": configuration(yaml.safe_load(path.read_text())["says"])})
        for path in sorted(CASES.glob("*.yaml"))
    ]
    told = [
        yaml.safe_dump(
            {
                "config": {
                    f"azure-gpu:{key}": value for key, value in yaml.safe_load(path.read_text())["says"].items() if ":" not in key
                }
            }
        )
        for path in sorted(CASES.glob("*.happy.*.yaml"))
    ]
    return (*shipped, *examples, *cases, *told)


def _mutated(text: str, chance: random.Random) -> str:
    """Broken in its text, or in what it says."""
    for _ in range(chance.randint(1, 3)):
        text = _broken_text(text, chance) if chance.random() < 0.4 else _broken_value(text, chance)
    return text


def _broken_text(text: str, chance: random.Random) -> str:
    start = chance.randint(0, len(text))
    end = min(len(text), start + chance.choice((0, 1, 5, 80)))
    match chance.randint(0, 3):
        case 0:
            return text[:start] + text[end:]
        case 1:
            return text[:end] + text[start:]
        case 2:
            return text[:start] + chance.choice(_MARKS) + text[start:]
        case _:
            lines = text.splitlines(keepends=True)
            chosen = chance.randrange(len(lines)) if lines else 0
            return "".join([*lines[:chosen], " " * chance.randint(0, 3), *lines[chosen:]])


def _broken_value(text: str, chance: random.Random) -> str:
    try:
        said = yaml.load(text, _LOADER)
        places = list(_places(said))
        holder, key = chance.choice(places)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, IndexError):
        return text
    match chance.randint(0, 4):
        case 0:
            del holder[key]
        case 1:
            other, which = chance.choice(places)
            holder[key] = _copied(other[which]) if which in other or isinstance(other, list) else None
        case 2 if isinstance(holder, dict):
            holder[chance.choice((f"{key}x", str(key).upper(), *SOME_NAMES))] = holder.pop(key)
        case 3:
            inner: Any = 1
            for _ in range(chance.choice((1, 50, 400))):
                inner = [inner] if chance.random() < 0.5 else {"a": inner}
            holder[key] = inner
        case _:
            holder[key] = _any(chance)
    try:
        return yaml.dump(said, Dumper=_DUMPER)
    except RecursionError:
        return text


def _copied(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Everything in a file, with what it stands in."""
    for key, each in list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()):
        yield value, key
        yield from _places(each)
