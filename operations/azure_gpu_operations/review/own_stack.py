"""Writes the stack file of a pull request, and lists stacks of pull requests that are no longer needed.

    write pr-7 --from dev --days 3     Pulumi.pr-7.yaml: a copy of dev that expires after 3 days, with nothing protected or kept
    past --days 3                      the stacks pr-<number> last updated at least 3 days ago, one per line

Encrypted values can't be read by another stack: a file with encrypted values is rejected.
Exit codes: 0 done, 1 Pulumi failed, 2 the command line or the file is invalid.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from azure_gpu.formats import stack_file
from azure_gpu.formats.stack_file import StackFileError
from azure_gpu_operations import planned
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.exit_codes import FAILED, OK
from azure_gpu_operations.project import key_of, project
from azure_gpu_operations.stack import EngineError, run_engine

_NAME = re.compile(r"pr-[1-9][0-9]{0,9}")
_END, _PROTECTION, _LOCK, _TAGS, _EXTENDS = "expires_after", "protect_data", "lock_data", "tags", "extends"
_KEPT = "keep"  # what stays in Azure when the stack is destroyed


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("write")
    command.add_argument("stack", type=_name)
    command.add_argument("--from", dest="other", required=True, metavar="STACK")
    command.add_argument("--days", type=_days, required=True)
    commands.add_parser("past").add_argument("--days", type=_days, required=True)
    options = parser.parse_args(arguments)
    now = datetime.now(UTC)
    try:
        if options.command == "past":
            stacks = json.loads(run_engine(project().program, "stack", "ls", "--json", quiet=True))
            sys.stdout.writelines(f"{name}\n" for name in past(stacks, now - timedelta(days=options.days)))
            return OK
        _write(options.stack, options.other, (now + timedelta(days=options.days)).date().isoformat())
    except EngineError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED
    except (planned.UnreadableStackFileError, StackFileError, OSError) as error:
        return refuse(error)
    return OK


def _write(stack: str, other: str, last_day: str) -> None:
    folder = project().files
    source = folder / f"Pulumi.{other}.yaml"
    try:
        encrypted = [".".join(map(str, steps)) for steps in stack_file.encrypted(source.read_text(encoding="utf-8"))]
    except OSError as error:
        raise planned.UnreadableStackFileError(f"{source} can't be read: {error.strerror}") from None
    except (UnicodeDecodeError, StackFileError) as error:
        raise planned.UnreadableStackFileError(f"{source}: {error}") from None
    if encrypted:
        raise planned.UnreadableStackFileError(
            f"{source.name} has encrypted values, which only its stack can decrypt: {', '.join(encrypted)}; "
            "set REVIEW_STACK_FROM to a stack file without encrypted values"
        )
    config = of_pull_request(planned.whole(source), stack, last_day)
    named = {key if ":" in key else key_of(key): value for key, value in config.items()}
    # JSON is YAML; the file is read once and thrown away.
    Path(folder, f"Pulumi.{stack}.yaml").write_text(json.dumps({"config": named}, indent=2) + "\n", encoding="utf-8")


def of_pull_request(config: Mapping[str, Any], stack: str, last_day: str) -> dict[str, Any]:
    """A configuration for a stack that lives for days. `last_day`: "YYYY-MM-DD"."""
    found = {key: _changed(value, last_day) for key, value in config.items() if key not in (_EXTENDS, _LOCK, "as_of")}
    return {**found, _PROTECTION: False, _TAGS: {**(found.get(_TAGS) or {}), "review": stack}}


def _changed(value: Any, last_day: str) -> Any:
    if isinstance(value, list):
        return [_changed(each, last_day) for each in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    entries = cast(dict[str, Any], value)
    return {
        key: last_day if key == _END else _changed(each, last_day)
        for key, each in entries.items()
        if not (key == _KEPT and each is True)
    }


def past(stacks: Iterable[Mapping[str, Any]], before: datetime) -> Iterator[str]:
    """Names of stacks of pull requests that were last updated before. `stacks`: as `pulumi stack ls --json` has them."""
    for stack in stacks:
        name = str(stack["name"]).rsplit("/", 1)[-1]
        if not _NAME.fullmatch(name) or stack.get("updateInProgress"):
            continue
        updated = stack.get("lastUpdate")
        if not updated or datetime.fromisoformat(str(updated)) <= before:
            yield name


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} isn't a valid name; expected pr-<number>")
    return text


def _days(text: str) -> int:
    if not text.isdecimal() or int(text) > 365:
        raise argparse.ArgumentTypeError(f"{text!r} isn't an integer from 0 to 365")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
