"""`import` itself: reads files, judges groups, prints what they become or what is wrong, and writes it where it is asked to.

In: the parsed command line. Out: standard output, standard error, the stack's file, and the exit code.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from azure_gpu.catalog.problems import Code, Problem, as_data, errors
from azure_gpu.formats import arm_template, container_group_file, lenient_json
from azure_gpu.formats.dates import parse_day
from azure_gpu.formats.document import Document
from azure_gpu.formats.stack_file import SECRET, StackFileError, configuration
from azure_gpu.shared.provider_keys import SUBSCRIPTION_ID
from azure_gpu_operations.importing import (
    manifests,
    old_machine_learning,
    old_machine_learning_page,
    page,
    shipyard,
    shipyard_page,
)
from azure_gpu_operations.importing.blocks import Entry, block
from azure_gpu_operations.importing.merging import MergeError, merged
from azure_gpu_operations.importing.taking import fitting, take
from azure_gpu_operations.importing.texts import text_of
from azure_gpu_operations.project import key_of, project
from azure_gpu_operations.terminal import printable


def run(options: argparse.Namespace) -> int:
    """What `import` does with its command line. The exit code."""
    if options.write and not options.stack:
        print("error: --write needs --stack, whose file it writes", file=sys.stderr)
        return 2
    try:
        stack = _stack_settings(options)
    except StackFileError as error:
        print(f"error: {_stack_file(options)}: {error}", file=sys.stderr)
        return 1
    stack_day = parse_day(stack.get(key_of("as_of"), ""))
    as_of: date = options.as_of or stack_day or datetime.now(UTC).date()
    own_day = options.as_of is not None and options.as_of != stack_day
    if old_machine_learning.is_old_machine_learning(Path(options.file)):
        return _run_old_machine_learning(options, options.location or stack.get(key_of("location"), ""), as_of, own_day)
    if shipyard.is_shipyard(Path(options.file)):
        return _run_shipyard(options, options.location or stack.get(key_of("location"), ""), as_of, own_day)
    manifest = _manifest(options)
    if manifest is not None:
        return _run_manifest(options, manifest, as_of)
    groups, problems = _read(options, options.subscription or stack.get(SUBSCRIPTION_ID))
    location = options.location or stack.get(key_of("location"), "")
    named = zip(groups, _names([group.name for group in groups], options), strict=True)
    taken = [take(group, name, location, as_of, own_day) for group, name in named]
    problems += [problem for one in taken for problem in one.problems]
    if options.name and len(groups) > 1:
        problems.append(
            Problem(
                options.file, f"--name names one group, and {len(groups)} are in the file", options.name, fix="leave --name out"
            )
        )
    problems = list(dict.fromkeys(problems))
    refused = bool(errors(problems))
    _tell(problems)
    entries = [entry for one in taken for entry in one.entries]
    engine = _engine(options)
    if options.json:
        print(json.dumps(page.data(options.file, as_of, taken, problems, engine), indent=2))
    elif not refused:
        print("\n".join(page.lines(options.file, as_of, taken, engine)))
    if refused:
        for end in page.ends(options.file, taken):
            print(f"warning: {end}", file=sys.stderr)
        count = len(errors(problems))
        print(f"{count} problem{'s' if count > 1 else ''} in {options.file}, nothing was taken", file=sys.stderr)
        return 1
    return _write(options, entries) if options.write else 0


def _run_shipyard(options: argparse.Namespace, location: str, as_of: date, own_day: bool) -> int:
    """A pool and jobs: the same order as above. The files of tasks are written before the stack's."""
    taken, problems = shipyard.take(options, location, as_of, own_day)
    problems = list(dict.fromkeys(problems))
    _tell(problems)
    refused = errors(problems)
    if options.json:
        print(json.dumps(shipyard_page.data(taken, as_of, problems, _engine(options)), indent=2))
    elif not refused:
        print("\n".join(shipyard_page.lines(taken, as_of, _engine(options), bool(options.tasks))))
    if refused:
        print(f"{len(refused)} problem{'s' if len(refused) > 1 else ''} in {options.file}, nothing was taken", file=sys.stderr)
        return 1
    for there in shipyard.write_tasks(taken) if options.tasks else []:
        print(f"error: {there}; move it, or name another folder with --tasks", file=sys.stderr)
        refused = True
    return 1 if refused else _write(options, taken.entries) if options.write else 0


def _run_old_machine_learning(options: argparse.Namespace, location: str, as_of: date, own_day: bool) -> int:
    """Machines, services and runs: the same order as above."""
    taken, problems = old_machine_learning.take(options, location, as_of, own_day)
    problems = list(dict.fromkeys(problems))
    _tell(problems)
    refused = errors(problems)
    if options.json:
        print(json.dumps(old_machine_learning_page.data(taken, as_of, problems, _engine(options)), indent=2))
    elif not refused:
        print("\n".join(old_machine_learning_page.lines(taken, as_of, _engine(options))))
    if refused:
        print(f"{len(refused)} problem{'s' if len(refused) > 1 else ''} in {options.file}, nothing was taken", file=sys.stderr)
        return 1
    return _write(options, taken.entries) if options.write else 0


def _tell(problems: Iterable[Problem]) -> None:
    for problem in problems:
        print(printable(f"{problem.severity.value}: {problem}"), file=sys.stderr)


def _manifest(options: argparse.Namespace) -> str | None:
    """The file's text, where it is one of Kubernetes."""
    text, _ = text_of(options.file)
    return text if text is not None and manifests.is_manifest(text) else None


def _run_manifest(options: argparse.Namespace, text: str, as_of: date) -> int:
    """Jobs: the same order as above."""
    name = options.name or ("edge" if options.part == manifests.EDGES else "gpu")
    taken, problems = manifests.take(text, options.file, options.part, name, as_of)
    problems = list(dict.fromkeys(problems))
    _tell(problems)
    refused = errors(problems)
    entries = [taken.entry] if taken.entry is not None else []
    if options.json:
        data = {each.section: {each.name: each.settings} for each in entries}
        listed = {
            "file": options.file,
            "config": data,
            "secrets": list(taken.secrets),
            "problems": [as_data(p) for p in problems],
        }
        print(json.dumps(listed, indent=2))
    elif not refused and entries:
        print(f"# {options.file}")
        print(block(entries), end="")
    if refused or not entries:
        count = len(refused)
        what = f"{count} problem{'s' if count > 1 else ''}" if count else "no job"
        print(f"{what} in {options.file}, nothing was taken", file=sys.stderr)
        return 1
    return _write(options, entries) if options.write else 0


def _engine(options: argparse.Namespace) -> list[str]:
    """Options of `pulumi` that say which stack."""
    engine = ["--stack", options.stack] if options.stack else []
    return engine + (["--config-file", str(_stack_file(options))] if options.stack and options.config_folder else [])


def _read(options: argparse.Namespace, subscription: str | None) -> tuple[list[container_group_file.GroupInFile], list[Problem]]:
    parameters: dict[str, Any] = {}
    problems: list[Problem] = []
    if options.parameters:
        text, problems = text_of(options.parameters)
        document, wrong = lenient_json.read(text, options.parameters) if text is not None else (None, [])
        problems += wrong
        if document is not None:
            parameters, wrong = arm_template.read_file(_without_vaults(document))
            problems += wrong
    parameters |= dict(options.parameter)
    text, wrong = text_of(options.file)
    problems += wrong
    if text is None:
        return [], problems
    # No location: a group without one goes where the stack file says.
    scope = arm_template.Scope(subscription, None, options.resource_group, None, None)
    groups, wrong = container_group_file.read(text, options.file, parameters, scope)
    return groups, [*problems, *map(_with_option, wrong)]


def _with_option(problem: Problem) -> Problem:
    """What isn't known of where a template is deployed can be said."""
    if problem.code is not Code.UNKNOWN or problem.fix:
        return problem
    for what, option in (("the subscription", "--subscription"), ("the resource group", "--resource-group")):
        if problem.message == f"{what} is not known here":
            return problem._replace(fix=f"give it with {option}, or write the value")
    return problem


def _without_vaults(document: Document) -> Document:
    """With SECRET for each parameter that refers to a secret of a key vault: nothing here needs it."""

    def known(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {"value": SECRET} if "reference" in value else {name: known(inner) for name, inner in value.items()}

    return document._replace(value=known(document.value))


def _names(own: list[str], options: argparse.Namespace) -> list[str]:
    """What the stack file calls the groups: no name twice."""
    if options.name and len(own) == 1:
        return [options.name]
    result: list[str] = []
    for name in own:
        first = fitting(name or Path(options.file).stem)
        result.append(next(each for each in _numbered(first) if each not in result))
    return result


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in range(2, 1_000_000):
        yield f"{name}-{number}"


def _stack_file(options: argparse.Namespace) -> Path:
    return (options.config_folder or project().files) / f"Pulumi.{options.stack}.yaml"


def _stack_settings(options: argparse.Namespace) -> dict[str, str]:
    return configuration(_stack_file(options).read_text(encoding="utf-8")) if options.stack else {}


def _write(options: argparse.Namespace, entries: list[Entry]) -> int:
    """Puts the active entries into the stack's file, or leaves the file as it is."""
    file = _stack_file(options)
    active = [entry for entry in entries if entry.active]
    try:
        text = merged(file.read_bytes().decode("utf-8"), active)
    except (MergeError, UnicodeDecodeError) as error:
        print(f"error: {file} was left as it is: {error}; paste the configuration by hand", file=sys.stderr)
        return 1
    with tempfile.NamedTemporaryFile("wb", dir=file.parent, prefix=f".{file.name}.", delete=False) as new:
        new.write(text.encode("utf-8"))
    made = Path(new.name)
    made.chmod(file.stat().st_mode)
    made.replace(file)
    print(f"{file}: {', '.join(f'{entry.section}.{entry.name}'.rstrip('.') for entry in active)} added", file=sys.stderr)
    return 0
