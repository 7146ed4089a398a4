"""Writes a stack file from an example or from another stack's file, ready for `up`.

    new tonight --example t4-tonight --team vision     an example, whose GPUs expire after --days
    new staging --from dev --location northeurope      the next environment: a copy of Pulumi.dev.yaml with its comments

A copy takes --team and --location; encrypted values can't be copied, and the commands that set them are printed. An example's
subscription and tenant come from ARM_SUBSCRIPTION_ID and ARM_TENANT_ID, else from the login of the Azure CLI (`az account
show`). An existing file is never overwritten.
"""

import argparse
import getpass
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from string import Template
from typing import NamedTuple

from azure_gpu.catalog import regions, spelling
from azure_gpu.catalog.problems import Code, Problem, errors
from azure_gpu.formats import dates, stack_file
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu.shared.installation import COMMAND
from azure_gpu.shared.provider_keys import PROVIDER_VARIABLES, SUBSCRIPTION_ID, TENANT_ID
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.command_line import listed, refuse
from azure_gpu_operations.project import EXAMPLES, key_of, project

STACK_FILE = "stack.yaml"
MOST_DAYS = 3650
LOCATION = "eastus"  # has both GPUs of Container Apps, and the prices that the catalog knows
AZ_SECONDS = 60
# Pulumi's rule for a stack's name: letters, digits, '_', '.' and '-', at most 100 (pulumi/pulumi, tokens.ParseStackName).
_STACK = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_TEAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,39}")


class Account(NamedTuple):
    """The stack's subscription and tenant."""

    subscription_id: str
    tenant_id: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    parser.add_argument("stack", metavar="STACK", help="name of the new stack")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--example", help=f"one of: {', '.join(examples())}")
    source.add_argument("--from", dest="other", metavar="STACK", help="the stack whose file is copied")
    parser.add_argument("--team", default="", help="owner of the stack (default: your user name; in a copy: unchanged)")
    parser.add_argument("--location", default="", help=f"the region (default: {LOCATION}; in a copy: unchanged)")
    text = f"days until the GPUs of an example expire (default: {PROPOSED_DAYS})"
    parser.add_argument("--days", type=int, default=None, metavar="N", help=text)


def run(options: argparse.Namespace) -> int:
    file = project().files / f"Pulumi.{options.stack}.yaml"
    made, problems = _copy(options, file) if options.other is not None else _of_example(options, file)
    if problems or made is None:
        return refuse(listed(problems, "no file was written"))
    try:
        with file.open("x", encoding="utf-8") as written:  # "x": somebody may have written it since we looked
            written.write(made.text)
    except FileExistsError:
        print(f"error: {file.name} already exists", file=sys.stderr)
        return 1
    for warning in regions.check(options.location, "--location") if options.location else []:
        print(f"warning: {warning}", file=sys.stderr)
    print(f"wrote {file.name}: {made.described}")
    for line in quota_first(made.text, options.stack):
        print(f"quota: {line}")
    for line in made.next:
        print(f"next: {line}")
    return 0


class NewStackFile(NamedTuple):
    """A stack file that can be written."""

    text: str
    described: str
    next: tuple[str, ...]  # commands


def _of_example(options: argparse.Namespace, file: Path) -> tuple[NewStackFile | None, list[Problem]]:
    team, location = options.team or _team(), options.location or LOCATION
    days = PROPOSED_DAYS if options.days is None else options.days
    problems = check(options.stack, options.example, team, location, days, examples(), file.exists())
    account, more = _account(os.environ)
    problems += more
    if problems or account is None:
        return None, problems
    template = (EXAMPLES / options.example / STACK_FILE).read_text(encoding="utf-8")
    today = datetime.now(UTC).date()
    text = filled(_in_project(template), team, regions.normalise(location), account, today, days)
    end = dates.days_later(today, days).isoformat()
    return NewStackFile(
        text, f"team {team}, {regions.normalise(location)}, GPUs until {end}", (f"{COMMAND} up --stack {options.stack}",)
    ), []


def _copy(options: argparse.Namespace, file: Path) -> tuple[NewStackFile | None, list[Problem]]:
    problems = _check_name(options.stack, file.exists())
    problems += errors(regions.check(options.location, "--location")) if options.location else []
    problems += _check_team(options.team) if options.team else []
    if options.days is not None:
        fix = "omit it, and change `expires_after` in the copy"
        problems.append(Problem("--days", "not supported with --from: a copy keeps its end dates", value=options.days, fix=fix))
    other = project().files / f"Pulumi.{options.other}.yaml"
    try:
        text = other.read_text(encoding="utf-8")
        encrypted = stack_file.encrypted(text)
    except FileNotFoundError:
        known = sorted(each.name.split(".")[1] for each in other.parent.glob("Pulumi.*.yaml"))
        close = spelling.nearest(options.other, known, 1)
        fix = f"did you mean {close[0]}?" if close else ""
        message = f"{other.name} doesn't exist"
        problems.append(Problem("--from", message, options.other, allowed=", ".join(known), fix=fix, code=Code.NOT_FOUND))
        return None, problems
    except (OSError, UnicodeDecodeError, stack_file.StackFileError) as error:
        return None, [*problems, Problem("--from", f"{other.name} can't be read: {error}", options.other)]
    if problems:
        return None, problems
    kept = without_secrets(text)
    for key, value in (("team", options.team), ("location", options.location and regions.normalise(options.location))):
        if value:
            kept = re.sub(rf"^(\s+{re.escape(key_of(key))}:).*$", rf"\1 {value}", kept, flags=re.MULTILINE)
    path = [".".join(str(step) for step in steps) for steps in encrypted]
    secrets = tuple(f"pulumi config set --secret --path '{each}' --stack {options.stack}" for each in path)
    return NewStackFile(kept, f"a copy of {other.name}", (*secrets, f"{COMMAND} up --stack {options.stack}")), []


def without_secrets(text: str) -> str:
    """A stack file's text without its encrypted secrets and their salt."""
    lines: list[str] = []
    for line in text.splitlines():
        if re.match(r"(encryptionsalt|secretsprovider|encryptedkey):", line):
            continue
        if re.match(r"\s+(- )?secure:", line):
            if not line.lstrip().startswith("- ") and lines and lines[-1].rstrip().endswith(":"):
                lines.pop()  # the key whose value it was
            continue
        lines.append(line)
    return "\n".join(lines) + "\n"


def examples() -> list[str]:
    """The examples that have a stack file."""
    return sorted(file.parent.name for file in EXAMPLES.glob(f"*/{STACK_FILE}"))


def quota_first(text: str, stack: str) -> Iterator[str]:
    """Hints about quotas that belong to one resource, which must exist before they can be requested."""
    given = stack_file.configuration(text)
    for section, what, part in (
        ("jobs", "GPU quota of Container Apps belongs to one environment", "job_environment"),
        ("pools", "GPU quota of Batch belongs to one account, and a new one may have none", "batch_account"),
    ):
        if key_of(section) in given:
            yield (
                f"{what}: after `up`, `{COMMAND} preflight --stack {stack}` shows the quota and how to request more; "
                f"`keep: true` of {part} keeps it after `down`"
            )


def _in_project(template: str) -> str:
    """The template with its keys in the namespace of the project in this folder."""
    return re.sub(f"^([# ]*){config_key('')}", rf"\1{key_of('')}", template, flags=re.MULTILINE)


def filled(template: str, team: str, location: str, account: Account, today: date, days: int) -> str:
    """The example's stack file with its five words filled in."""
    return Template(template).substitute(
        team=team,
        location=location,
        expires_after=dates.days_later(today, days).isoformat(),
        subscription_id=account.subscription_id,
        tenant_id=account.tenant_id,
    )


def check(stack: str, example: str, team: str, location: str, days: int, known: list[str], there: bool) -> list[Problem]:
    """Every problem of the arguments."""
    problems = [*errors(regions.check(location, "--location")), *_check_name(stack, there)]
    if example not in known:
        close = spelling.nearest(example, known, 1)
        fix = f"did you mean {close[0]}?" if close else ""
        allowed = ", ".join(known)
        problems.append(Problem("--example", "unknown example", example, allowed=allowed, fix=fix, code=Code.NOT_FOUND))
    problems += _check_team(team)
    if not 1 <= days <= MOST_DAYS:
        problems.append(Problem("--days", "out of range", value=days, allowed=f"1 to {MOST_DAYS}"))
    return problems


def _check_name(stack: str, there: bool) -> list[Problem]:
    if not _STACK.fullmatch(stack):
        allowed = "1 to 100 letters, digits, '_', '.' and '-'"
        return [Problem("STACK", "invalid stack name", value=stack, allowed=allowed)]
    if there:
        fix = "choose another name, or edit that file"
        return [Problem("STACK", f"Pulumi.{stack}.yaml already exists", value=stack, fix=fix)]
    return []


def _check_team(team: str) -> list[Problem]:
    if _TEAM.fullmatch(team):
        return []
    allowed = "1 to 40 letters, digits, spaces, '_', '.' and '-'"
    return [Problem("--team", "invalid team name", value=team, allowed=allowed)]


def _team() -> str:
    """The user's name as a valid team name."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        name = ""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40] or "me"


def _account(environment: Mapping[str, str]) -> tuple[Account | None, list[Problem]]:
    """From the variables that the provider reads; else from the Azure CLI's login."""
    subscription, tenant = (environment.get(PROVIDER_VARIABLES[key], "") for key in (SUBSCRIPTION_ID, TENANT_ID))
    if subscription and tenant:
        return Account(subscription, tenant), []
    fix = "run `az login`, or set ARM_SUBSCRIPTION_ID and ARM_TENANT_ID"
    if shutil.which("az") is None:
        return None, [Problem("subscription", "not set, and the Azure CLI isn't on PATH", fix=fix)]
    command = ["az", "account", "show", "--output", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=AZ_SECONDS)
    except subprocess.TimeoutExpired:
        return None, [Problem("subscription", f"`{' '.join(command)}` timed out", fix=fix)]
    try:
        shown = json.loads(done.stdout)
        return Account(subscription or shown["id"], tenant or shown["tenantId"]), []
    except (ValueError, KeyError, TypeError):
        return None, [Problem("subscription", "the Azure CLI isn't signed in", fix=fix)]
