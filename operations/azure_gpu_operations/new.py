"""`python -m operations new`: writes a stack file from an example, ready for `up`.

    new tonight --example t4-tonight --team vision

The end date is so many days ahead. Subscription and tenant come from ARM_SUBSCRIPTION_ID and ARM_TENANT_ID, or else from the
login of the Azure CLI (`az account show`). A file that is there is never overwritten.
"""

import argparse
import getpass
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from string import Template
from typing import Any, NamedTuple

from azure_gpu.catalog import regions, spelling
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.formats import dates
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu.shared.installation import COMMAND
from azure_gpu.stack.keys import PROVIDER_VARIABLES, SUBSCRIPTION_ID, TENANT_ID
from azure_gpu_operations.command_line import WRONG_COMMAND_LINE
from azure_gpu_operations.project import EXAMPLES, project

STACK_FILE = "stack.yaml"
MOST_DAYS = 3650
LOCATION = "eastus"  # has both GPUs of Container Apps, and the prices that the catalog knows
AZ_SECONDS = 60
# Pulumi's rule for a stack's name: letters, digits, '_', '.' and '-', at most 100 (pulumi/pulumi, tokens.ParseStackName).
_STACK = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_TEAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,39}")


class Account(NamedTuple):
    """The subscription and the tenant that the stack is to live in."""

    subscription_id: str
    tenant_id: str


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "new",
        help="write a stack file from an example",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.add_argument("stack", metavar="STACK", help="the new stack's name")
    parser.add_argument("--example", required=True, help=f"one of: {', '.join(examples())}")
    parser.add_argument("--team", default="", help="who owns it (default: your user name)")
    parser.add_argument("--location", default=LOCATION, help=f"the region (default: {LOCATION})")
    parser.add_argument("--days", type=int, default=PROPOSED_DAYS, help=f"how long its GPUs may stay (default: {PROPOSED_DAYS})")


def run(options: argparse.Namespace) -> int:
    file = project().files / f"Pulumi.{options.stack}.yaml"
    team = options.team or _team()
    problems = check(options.stack, options.example, team, options.location, options.days, examples(), file.exists())
    account, more = _account(os.environ)
    problems += more
    if problems or account is None:
        print(
            f"error: {'1 problem' if len(problems) == 1 else f'{len(problems)} problems'}, no file was written:", file=sys.stderr
        )
        for problem in problems:
            print(f"  - {problem}", file=sys.stderr)
        return WRONG_COMMAND_LINE
    template = (EXAMPLES / options.example / STACK_FILE).read_text(encoding="utf-8")
    today = datetime.now(UTC).date()
    try:
        with file.open("x", encoding="utf-8") as written:  # "x": somebody may have written it since we looked
            written.write(filled(template, team, regions.normalise(options.location), account, today, options.days))
    except FileExistsError:
        print(f"error: {file.name} is there already", file=sys.stderr)
        return 1
    end = dates.days_later(today, options.days)
    print(f"wrote {file.name}: team {team}, {regions.normalise(options.location)}, GPUs until {end.isoformat()}")
    print(f"next: {COMMAND} up --stack {options.stack}")
    return 0


def examples() -> list[str]:
    """The examples that have a stack file."""
    return sorted(file.parent.name for file in EXAMPLES.glob(f"*/{STACK_FILE}"))


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
    """Every problem with what was asked for."""
    problems = regions.check(location, "--location")
    if not _STACK.fullmatch(stack):
        allowed = "1 to 100 letters, digits, '_', '.' and '-'"
        problems.append(Problem("STACK", "this can't be a stack's name", value=stack, allowed=allowed))
    elif there:
        fix = "choose another name, or edit that file"
        problems.append(Problem("STACK", f"Pulumi.{stack}.yaml is there already", value=stack, fix=fix))
    if example not in known:
        close = spelling.nearest(example, known, 1)
        fix = f"did you mean {close[0]}?" if close else ""
        allowed = ", ".join(known)
        problems.append(Problem("--example", "there is no such example", example, allowed=allowed, fix=fix, code=Code.NOT_FOUND))
    if not _TEAM.fullmatch(team):
        allowed = "1 to 40 letters, digits, spaces, '_', '.' and '-'"
        problems.append(Problem("--team", "this can't be a team's name", value=team, allowed=allowed))
    if not 1 <= days <= MOST_DAYS:
        problems.append(Problem("--days", "it is out of range", value=days, allowed=f"1 to {MOST_DAYS}"))
    return problems


def _team() -> str:
    """The user's name, as far as a team may be called so."""
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
        return None, [Problem("subscription", "nothing says which one is yours, and the Azure CLI isn't on PATH", fix=fix)]
    command = ["az", "account", "show", "--output", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=AZ_SECONDS)
    except subprocess.TimeoutExpired:
        return None, [Problem("subscription", f"`{' '.join(command)}` doesn't answer", fix=fix)]
    try:
        shown = json.loads(done.stdout)
        return Account(subscription or shown["id"], tenant or shown["tenantId"]), []
    except (ValueError, KeyError, TypeError):
        return None, [Problem("subscription", "the Azure CLI isn't signed in", fix=fix)]
