"""Checks a stack, or GPU machines, against the catalog and the subscription before anything is created.

    preflight --stack dev                                       a stack, from its configuration
    preflight --need batch=Standard_NC4as_T4_v3*4@westeurope    machines; repeatable, also together with --stack
    preflight --offline ...                                     only against the catalog, without a login
    preflight --stack dev --validate                            also with Resource Manager's `validate`, which asks the services

A stack's resources are also shown to Azure Policy (`checkPolicyRestrictions`, a right of Reader), which says what it would deny.
`--validate` sends the bodies of the stack's resources to the subscription as a template that is validated and not deployed. It
requires the right Microsoft.Resources/deployments/validate/action on the subscription. Secrets aren't sent.

`--as-of` applies to the catalog; Azure's answers are always of today.

Exit codes: 0 no problems, 1 problems, 2 the command line is invalid, 3 no problems found but the result is incomplete: a list
couldn't be read, or a size is unknown.
"""

import argparse
import json
import os
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import errors
from azure_gpu.formats import dates
from azure_gpu_operations import planned, stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.connection import Connection, connection_from, connection_in, connection_of
from azure_gpu_operations.console import add_wide, console
from azure_gpu_operations.preflight import needs
from azure_gpu_operations.preflight.rows import Row, of_problems
from azure_gpu_operations.project import project
from azure_gpu_operations.stack import EngineError, Stack


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    stack_options.add_stack(parser, required=False)
    parser.add_argument("--need", action="append", default=[], metavar="NEED", help=f"{needs.FORM}; may be repeated")
    parser.add_argument("--location", default="", help="the region of needs without one (default: the stack's)")
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="KIND=NAME",
        help=f"check that this name is available; KIND is {', '.join(needs.NamedKind)}; may be repeated",
    )
    parser.add_argument("--batch-account", default="", help="the account whose quotas count (default: the region's only one)")
    parser.add_argument("--as-of", default="", metavar="DAY", help=f"{dates.SPELLING} (default: the stack's, else today)")
    parser.add_argument("--offline", action="store_true", help="use only the packaged catalog; no login")
    parser.add_argument(
        "--validate", action="store_true", help="also validate the stack with Resource Manager, including policies"
    )
    add_wide(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(options: argparse.Namespace) -> int:
    from azure_gpu.stack.inventory import Inventory  # here, because `--help` needs neither components nor tables
    from azure_gpu_operations.preflight.report import Report

    today = datetime.now(UTC).date()
    try:
        _check_validate(options)
        file = _stack_file(options)
        day = _day(options.as_of)
        found = planned.inventory(project().files, file, options.stack, options.as_of) if file else None
        taken = found or Inventory(day=day or today)
        region = _region(options.location) or needs.region_of(taken)
        requested = [needs.parse(text, region) for text in options.need]
        names = [needs.parse_name(text, region) for text in options.name]
    except ValueError as error:
        return refuse(error)
    used_regions = tuple(sorted({*(use.region for use in (*taken.uses, *requested)), needs.region_of(taken)} - {""}))
    problems = [*taken.problems, *needs.problems(requested, taken.day)]
    if options.offline:
        report = Report(as_of=taken.day, rows=tuple(of_problems(problems, "catalog")), regions=used_regions)
    else:
        from azure_gpu_operations.preflight import online  # here, because Azure's clients take seconds to load

        connection, own = _connection(options, file)
        found = online.ask(
            connection,
            taken,
            requested=requested,
            names=names,
            own=own,
            batch_account=options.batch_account,
            stack=options.stack or "",
            problems=problems,
        )
        judged, unjudged = _judged(options, file, connection) if file and "everything" not in found.missing else ([], {})
        rows, missing = (*found.rows, *judged), {**found.missing, **unjudged}
        report = replace(found, rows=rows, missing=missing, regions=used_regions)
    if options.json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        report.show(console(), wide=options.wide)
    return report.exit_code


def _stack_file(options: argparse.Namespace) -> Path | None:
    if not options.stack:
        if not options.need and not options.name:
            raise ValueError("nothing to check; set --stack, --need or --name")
        return None
    return stack_options.file_of(options)


def _check_validate(options: argparse.Namespace) -> None:
    if options.validate and not options.stack:
        raise ValueError("--validate requires --stack")
    if options.validate and options.offline:
        raise ValueError("--validate and --offline can't be combined: --validate sends requests to Azure")


def _judged(options: argparse.Namespace, file: Path, connection: Connection) -> tuple[list[Row], dict[str, str]]:
    """What policies deny and, by request, Resource Manager's validation of what the stack's program declares; and what is
    missing."""
    from azure_gpu_operations.graph import recorded  # here, for the same reason as `online`
    from azure_gpu_operations.preflight import online, restrictions, validation

    login = online.reached(connection)
    if isinstance(login, str):
        return [], {restrictions.CHECK: login}
    declared = cache(partial(recorded.record, project().program, file, options.stack))
    rows: list[Row] = []
    missing: dict[str, str] = {}
    for ask in (restrictions.check, *([validation.check] if options.validate else [])):
        more, left = ask(declared, login, connection.subscription_id, options.stack)
        rows += [each for each in more if each not in rows]
        missing |= left
    return rows, missing


def _region(given: str) -> str:
    problems = errors(regions.check(given, "--location")) if given else []
    if problems:
        raise ValueError(f"--location: {problems[0].message}: {given!r}; {problems[0].fix}")
    return regions.normalise(given)


def _day(given: str) -> date | None:
    if not given:
        return None
    day = dates.parse_day(given)
    if day is None:
        raise ValueError(f"--as-of: {given!r} is not {dates.SPELLING}")
    return day


def _connection(options: argparse.Namespace, file: Path | None) -> tuple[Connection, frozenset[str]]:
    """From the stack's state, where it exists; else from its configuration; else from the environment. And the ids of what the
    stack has already: a name that it holds itself isn't free, and needn't be."""
    if file is None:
        return connection_from({}, os.environ), frozenset()
    deployment = _deployment(stack_options.stack_of(options))
    found = connection_of(deployment)
    if found is not None and found.subscription_id:
        ids = [str(resource.get("id", "")) for resource in deployment.get("resources") or []]
        return found, frozenset(ids)
    return connection_in(file), frozenset()


def _deployment(stack: Stack) -> dict[str, Any]:
    try:
        return stack.deployment() if stack.exists() else {}
    except EngineError:
        return {}  # preflight works without an engine; the configuration has the connection
