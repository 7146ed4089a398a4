"""What has to be there before the first resource: a program on PATH, a registered subscription, a region that exists.

A missing one is a warning in a preview, which works without it, and refuses an `up`, which would end halfway. Under Pulumi's
mocks nothing is created, and so nothing is missing.
"""

import shutil
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import pulumi
from pulumi.runtime import is_dry_run
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import get_monitor

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.providers import INSIGHTS
from azure_gpu.catalog.refusals import refused
from azure_gpu.shared import arm_reads
from azure_gpu.shared.context import Context
from azure_gpu.shared.look_up import AskedBy

_API_VERSION = "2021-04-01"
_REGIONS_VERSION = "2022-12-01"
_ISSUE = "pulumi/pulumi-azure-native issue 3479 (2024-08-01)"
# By program: the registered subscriptions, in lower case.
_registered: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()


def missing(name: str, path: str, **words: Any) -> Problem:
    """A problem of something that isn't there yet."""
    return refused(name, path, severity=Severity.WARNING if is_dry_run() else Severity.ERROR, **words)


def on_path(program: str, path: str, page: str) -> list[Problem]:
    """`page`: where the installation of the program is described."""
    if isinstance(get_monitor(), MockMonitor) or shutil.which(program) is not None:
        return []
    return [missing("stack.not_on_path", path, program=program, page=page)]


def of_program(found: Sequence[Problem], args: Mapping[str, Any], context: Context, asked_by: AskedBy) -> list[Problem]:
    """Adds to the problems of a component in a program what only Azure can tell. Where Azure can't be read they stay as they
    are."""
    checked = [_in_subscription(each, context, asked_by.opts) for each in found]
    kept = [each for each in checked if each is not None]
    return [*kept, *_insights(context, asked_by.opts)] if "logs" in args else kept


def _in_subscription(problem: Problem, context: Context, opts: pulumi.InvokeOptions) -> Problem | None:
    """A region that the catalog doesn't list is refused where the subscription doesn't list it either; None where it does."""
    if problem.code is not Code.NOT_LISTED or not problem.path.endswith(".location"):
        return problem
    try:
        listed = arm_reads.get(f"/subscriptions/{context.subscription_id}/locations", _REGIONS_VERSION, opts)
    except arm_reads.UnreadableError:
        return problem
    names = {str(each.get("name", "")).lower() for each in listed.get("value") or ()}
    if not names:
        return problem
    if regions.normalise(str(problem.value)) in names:
        return None
    fix = problem.fix.removesuffix(" if that is meant")
    message = "the subscription has no such region"
    return problem._replace(message=message, fix=fix, source="", code=Code.NOT_FOUND, severity=Severity.ERROR)


def _insights(context: Context, opts: pulumi.InvokeOptions) -> list[Problem]:
    """Pulumi's provider registers the subscription for every other resource provider: pulumi/pulumi-azure-native issue 3479."""
    subscription, program = context.subscription_id.lower(), get_monitor()
    registered = _registered.setdefault(program, set()) if program is not None else set()
    if subscription in registered:
        return []
    try:
        found = arm_reads.get(f"/subscriptions/{subscription}/providers/{INSIGHTS}", _API_VERSION, opts)
    except arm_reads.UnreadableError:
        return []
    if str(found.get("registrationState", "Registered")).lower() == "registered":
        registered.add(subscription)
        return []
    return [missing("stack.unregistered", str(context.component), provider=INSIGHTS, subscription=subscription, source=_ISSUE)]
