"""Runs `import`: reads files, prints what they become or what is wrong, and writes it to the stack's file with --write."""

import argparse
import gc
import json
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from azure_gpu.catalog.problems import Code, Problem, Severity, as_data, errors
from azure_gpu.formats import arm_template, container_group_file, lenient_json
from azure_gpu.formats.container_group_template import is_not_taken
from azure_gpu.formats.dates import parse_day
from azure_gpu.formats.document import Document
from azure_gpu.formats.shaped import is_of_placeholder
from azure_gpu.formats.stack_file import SECRET, StackFileError, configuration
from azure_gpu.shared.provider_keys import SUBSCRIPTION_ID
from azure_gpu_operations.importing import documents, manifests, page, recognition
from azure_gpu_operations.importing.blocks import Entry, block, comment_lines, distinct
from azure_gpu_operations.importing.container_groups import take, with_problems
from azure_gpu_operations.importing.documents import Context, TakenDocuments
from azure_gpu_operations.importing.merging import MergeError, merged
from azure_gpu_operations.importing.recognition import text_of
from azure_gpu_operations.project import key_of, project
from azure_gpu_operations.terminal import printable


def run(options: argparse.Namespace) -> int:
    """What `import` does with its command line. The exit code."""
    gc.disable()  # what is read stays to the end, and looking through it for garbage takes a quarter of the time
    try:
        return _run(options)
    finally:
        gc.enable()


def _run(options: argparse.Namespace) -> int:
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
    location = options.location or stack.get(key_of("location"), "")
    subscription = options.subscription or stack.get(SUBSCRIPTION_ID)
    path = Path(options.file)
    gone = recognition.refused(path)
    if gone is not None:
        _tell([gone])
        return 1
    if path.is_dir() or recognition.has_documents_only(path):
        return _run_documents(options, Context(location, as_of, own_day), subscription)
    manifest = _manifest(options)
    if manifest is not None:
        if (options.part or manifests.target_of(manifest)) == manifests.CLUSTERS:
            return _run_documents(options, Context(location, as_of, own_day), subscription)
        return _run_manifest(options, manifest)
    return _run_groups(options, Context(location, as_of, own_day), subscription)


def _run_groups(options: argparse.Namespace, context: Context, subscription: str | None) -> int:
    """Container groups, and what else a template has."""
    groups, others, problems = _read(options, context, subscription)
    names = (
        [options.name] if options.name and len(groups) == 1 else distinct([one.name for one in groups], Path(options.file).stem)
    )
    named = zip(groups, names, strict=True)
    taken = [take(group, name, context.location, context.as_of, context.own_day) for group, name in named]
    problems += [problem for one in taken for problem in one.problems]
    if options.name and len(groups) > 1:
        problems.append(
            Problem(
                options.file, f"--name names one group, and {len(groups)} are in the file", options.name, fix="leave --name out"
            )
        )
    problems = list(dict.fromkeys(problems))
    taken = with_problems(taken, problems)
    others_entries, left = (others.entries, others.left) if others else ([], [])
    entries = [*(entry for one in taken for entry in one.entries), *others_entries]
    engine = _engine(options)
    data = page.data(options.file, context.as_of, taken, problems, engine, others_entries, left) if options.json else {}
    lines = page.lines(options.file, context.as_of, taken, engine, others_entries, left) if entries or left else ()
    return _end(options, problems, entries, data, lines, gone=page.ends(options.file, taken))


def _end(
    options: argparse.Namespace,
    problems: list[Problem],
    entries: list[Entry],
    data: dict[str, Any],
    lines: Iterable[str],
    *,
    is_read: bool = False,
    gone: Iterable[str] = (),
    nothing: str = "",
) -> int:
    """Tells the problems, prints what was read, and writes it where nothing is refused: whole or not at all.

    `is_read`: something was taken that is no entry. `gone`: what a file that is refused would be refused for next. `nothing`:
    why there is nothing to take.
    """
    _tell(problems)
    if options.json:
        print(json.dumps(data, indent=2))
    elif text := "\n".join(lines):
        print(text)
    count, printed = len(errors(problems)), bool(entries) or is_read
    if count:
        for end in gone:
            print(f"warning: {end}", file=sys.stderr)
        what = "what could be read is printed, with the rest as comments" if printed and not options.json else "nothing was taken"
        written = "; the stack file was left as it is" if options.write and printed else ""
        nothing = f"{count} problem{'s' if count > 1 else ''} in {options.file}: {what}{written}"
    if nothing:
        print(nothing, file=sys.stderr)
        return 1
    return _write(options, entries) if options.write else 0


def _run_documents(options: argparse.Namespace, context: Context, subscription: str | None) -> int:
    """Azure ML's YAML, manifests for clusters, Batch and AKS of ARM, and folders of them."""
    parameters, problems = _parameters(options)
    scope = arm_template.Scope(subscription, None, options.resource_group, None, None)
    taken, wrong = documents.take(options, context, parameters, scope)
    problems, engine = list(dict.fromkeys([*problems, *wrong])), _engine(options)
    data = page.document_data(taken, context.as_of, problems, engine) if options.json else {}
    is_read = bool(taken.entries or taken.left or taken.commands)
    lines = page.document_lines(taken, context.as_of, problems, engine) if is_read else ()
    nothing = f"nothing in {options.file} can be taken; the comments name what replaces it" if taken.is_empty else ""
    return _end(options, problems, taken.entries, data, lines, is_read=bool(taken.commands), nothing=nothing)


def _tell(problems: Iterable[Problem]) -> None:
    for problem in problems:
        print(printable(f"{problem.severity.value}: {problem}"), file=sys.stderr)


def _manifest(options: argparse.Namespace) -> str | None:
    """The file's text, where it is one of Kubernetes."""
    text, _ = text_of(options.file)
    return text if text is not None and manifests.is_manifest(text) else None


def _run_manifest(options: argparse.Namespace, text: str) -> int:
    """Jobs of an edge."""
    entries, secrets, problems = manifests.take(text, options.file, options.name or "edge")
    problems = list(dict.fromkeys(problems))
    data = {
        "file": options.file,
        "config": {each.section: {each.name: each.settings} for each in entries},
        "secrets": secrets,
        "problems": [as_data(problem) for problem in problems],
    }
    told = [each for each in problems if each.severity is Severity.ERROR or each.code is Code.UNKNOWN]
    comments = [line for problem in told for line in comment_lines(f"left out, {problem}")]
    lines = [f"# {options.file}", *comments, block(entries).rstrip("\n")] if entries else ()
    nothing = "" if entries else f"no job in {options.file}, nothing was taken"
    return _end(options, problems, entries, data, lines, nothing=nothing)


def _engine(options: argparse.Namespace) -> list[str]:
    """Options of `pulumi` that name the stack."""
    engine = ["--stack", options.stack] if options.stack else []
    return engine + (["--config-file", str(_stack_file(options))] if options.stack and options.config_folder else [])


def _parameters(options: argparse.Namespace) -> tuple[dict[str, Any], list[Problem]]:
    """Values of a template's parameters, from the file and the command line."""
    parameters: dict[str, Any] = {}
    problems: list[Problem] = []
    if options.parameters:
        text, problems = text_of(options.parameters)
        document, wrong = lenient_json.read(text, options.parameters) if text is not None else (None, [])
        problems += wrong
        if document is not None:
            parameters, wrong = arm_template.read_file(_without_vaults(document))
            problems += wrong
    return parameters | dict(options.parameter), problems


def _read(
    options: argparse.Namespace, context: Context, subscription: str | None
) -> tuple[list[container_group_file.GroupInFile], TakenDocuments | None, list[Problem]]:
    """Container groups, what else a template has, and problems. A placeholder is left out, and isn't an error."""
    parameters, problems = _parameters(options)
    text, wrong = text_of(options.file)
    problems += wrong
    if text is None:
        return [], None, problems
    # No location: a group without one is in the stack's region.
    scope = arm_template.Scope(subscription, None, options.resource_group, None, None)
    groups, wrong = container_group_file.read(text, options.file, parameters, scope)
    others = None
    if any(is_not_taken(problem) for problem in wrong):
        others, told = documents.take(options, context, parameters, scope, with_groups=True)
        wrong = [problem for problem in wrong if not is_not_taken(problem)]
        known = {(problem.path, problem.message) for problem in wrong}
        wrong += [problem for problem in told if (problem.path, problem.message) not in known]
    return groups, others, [*problems, *map(_named, map(_with_option, map(_weighed, wrong)))]


def _named(problem: Problem) -> Problem:
    """A file that isn't recognised is none of all that `import` reads."""
    if problem.message != container_group_file.NO_GROUP:
        return problem
    return problem._replace(message="not a file that is read", allowed="the files that `import --help` lists")


def _weighed(problem: Problem) -> Problem:
    """A placeholder leaves one setting out, and isn't an error."""
    return problem._replace(severity=Severity.WARNING, code=Code.UNKNOWN) if is_of_placeholder(problem) else problem


def _with_option(problem: Problem) -> Problem:
    """Names the option for an unknown target of the deployment."""
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


def _stack_file(options: argparse.Namespace) -> Path:
    return (options.config_folder or project().files) / f"Pulumi.{options.stack}.yaml"


def _stack_settings(options: argparse.Namespace) -> dict[str, str]:
    return configuration(_stack_file(options).read_text(encoding="utf-8")) if options.stack else {}


def _write(options: argparse.Namespace, entries: list[Entry]) -> int:
    """Puts the active entries into the stack's file, or leaves the file as it is: what the stack would refuse isn't written."""
    file = _stack_file(options)
    active = [entry for entry in entries if entry.active]
    try:
        text = merged(file.read_bytes().decode("utf-8"), active)
    except (MergeError, UnicodeDecodeError) as error:
        print(f"error: {file} was left as it is: {error}; paste the configuration by hand", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}.") as folder:
        made = Path(folder) / file.name
        made.write_bytes(text.encode("utf-8"))
        refused = _refused_by_stack(options, file, made, active)
        if refused:
            _tell(refused)
            print(f"{file} was left as it is: the stack refuses what is printed; decide, and paste it by hand", file=sys.stderr)
            return 1
        made.chmod(file.stat().st_mode)
        made.replace(file)
    print(f"{file}: {', '.join(f'{entry.section}.{entry.name}'.rstrip('.') for entry in active)} added", file=sys.stderr)
    return 0


def _refused_by_stack(options: argparse.Namespace, before: Path, after: Path, active: list[Entry]) -> list[Problem]:
    """The errors that the entries add to those of the stack file, but for secrets, which are set afterwards."""
    from azure_gpu_operations import planned  # here, because it loads the stack's engine

    as_of = options.as_of.isoformat() if options.as_of else ""
    secret = [f"{entry.section}.{entry.name}.{path}" for entry in active for path in entry.secrets]
    try:
        known = {(each.path, each.message) for each in planned.inventory(project().files, before, options.stack, as_of).problems}
        found = errors(planned.inventory(project().files, after, options.stack, as_of).problems)
    except ValueError as error:
        return [Problem(str(before), str(error))]
    new = [each for each in found if (each.path, each.message) not in known]
    return [each for each in new if not any(each.path.startswith(one) or one.startswith(f"{each.path}.") for one in secret)]
