"""`python -m operations promote`: change an endpoint's traffic in the stack file.

    promote ENDPOINT green --stack S             all traffic to green
    promote ENDPOINT green --share 50 --stack S  half of it; the other deployment with traffic keeps the rest
    promote ENDPOINT --back --stack S            the traffic before the last change
    promote ENDPOINT green --stack S --yes       the same, and `operations up`

Shows the change of the file, writes it, and shows the preview; without --yes nothing changes in Azure. If the preview fails, the
file is restored. A deployment that isn't declared, or that failed, is rejected before that.
"""

import argparse
import difflib
import json
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any

from azure_gpu.catalog.services.machine_learning.deployments import WHOLE
from azure_gpu.formats import bounded_yaml, yaml_edit
from azure_gpu.formats.tags import STOPPED_SINCE
from azure_gpu.ml.endpoint.spec import default_traffic
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.project import key_of
from azure_gpu_operations.stack import EngineError, Stack
from azure_gpu_operations.stack_view import StackView, of_deployment


class WrongTrafficError(ValueError):
    """The text is for the user."""


def present(settings: Mapping[str, Any]) -> dict[str, int]:
    """Percent by deployment."""
    traffic = settings.get("traffic")
    if isinstance(traffic, dict):
        return {str(name): _percent(name, share) for name, share in traffic.items()}
    return default_traffic(_deployments(settings))


def _percent(name: object, share: Any) -> int:
    try:
        return int(share)
    except (TypeError, ValueError) as error:
        raise WrongTrafficError(f"traffic.{name}: {share!r} is not a percentage; expected 0 to {WHOLE}") from error


def promoted(name: str, settings: Mapping[str, Any], deployment: str, share: int = WHOLE) -> dict[str, int]:
    """The traffic with `share` for the deployment, and the rest for the other deployment with traffic."""
    known, now = _deployments(settings), present(settings)
    if deployment not in known:
        raise WrongTrafficError(f"{name} declares no deployment {deployment!r}; it has {', '.join(known) or 'none'}")
    if not 0 < share <= WHOLE:
        raise WrongTrafficError(f"--share: {share} is out of range; allowed are 1 to {WHOLE} percent")
    if now.get(deployment, 0) == share:
        raise WrongTrafficError(f"{deployment} already has {share} percent of the traffic of {name}")
    others = [each for each, percent in now.items() if percent and each != deployment]
    if share < WHOLE and len(others) != 1:
        have = ", ".join(others) or "no other deployment"
        raise WrongTrafficError(
            f"the remaining {WHOLE - share} percent needs exactly one other deployment with traffic, but {have} has"
        )
    rest = dict.fromkeys((each for each in now if each != deployment), 0)
    if share < WHOLE:
        rest[others[0]] = WHOLE - share
    return {**now, **rest, deployment: share}


def rolled_back(name: str, settings: Mapping[str, Any], earlier: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The latest earlier traffic that differs from the current one. `earlier`: settings of past updates, newest first.

    Without one, and with two deployments, all traffic goes to the other one.
    """
    known, now = _deployments(settings), present(settings)
    for old in earlier:
        then = present(old)
        if {each for each, percent in then.items() if percent} - set(known):
            continue  # a deployment with traffic no longer exists
        if then and _live(then) != _live(now):
            return {**dict.fromkeys(now, 0), **then}
    if len(known) == 2 and _live(now):
        most = max(known, key=lambda each: now.get(each, 0))
        other = next(each for each in known if each != most)
        return {**dict.fromkeys(now, 0), most: 0, other: WHOLE}
    raise WrongTrafficError(
        f"no earlier traffic of {name} is known for deployments that it still declares; choose one: "
        f"{COMMAND} promote {name} DEPLOYMENT"
    )


def ends_mirror(settings: Mapping[str, Any], traffic: Mapping[str, int]) -> bool:
    """Whether mirroring must be disabled: Azure doesn't mirror to a deployment with traffic."""
    mirrored = settings.get("mirror")
    return isinstance(mirrored, dict) and any(percent and traffic.get(str(name), 0) for name, percent in mirrored.items())


def in_words(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """blue 90 → 0, green 10 → 100."""
    names = dict.fromkeys([*before, *after])
    return ", ".join(
        f"{name} {before.get(name, 0)} → {after.get(name, 0)}" for name in names if before.get(name, 0) != after.get(name, 0)
    )


def _deployments(settings: Mapping[str, Any]) -> list[str]:
    deployments = settings.get("deployments")
    return [str(name) for name in deployments] if isinstance(deployments, dict) else []


def _live(traffic: Mapping[str, int]) -> dict[str, int]:
    return {name: percent for name, percent in traffic.items() if percent}


SECTION = "ml_endpoints"
WAIT_MINUTES = 10.0
_UPDATES = 50  # searched for earlier traffic

_say = partial(print, flush=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("endpoint", metavar="ENDPOINT", help="the endpoint's name in the stack file")
    parser.add_argument("deployment", nargs="?", default="", metavar="DEPLOYMENT", help="the deployment that gets the traffic")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--share", type=int, default=WHOLE, metavar="PERCENT", help="its share of the traffic (default: all)")
    how.add_argument("--back", action="store_true", help="the traffic before the last change, in place of a deployment")
    parser.add_argument("--stack", required=True, help="the stack's name")
    stack_options.add_config_folder(parser)
    parser.add_argument("--yes", action="store_true", help="run `up` afterwards")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if bool(options.deployment) == options.back:
        return refuse("promote takes either a DEPLOYMENT or --back")
    from azure_gpu_operations.commands import bring_up, preview  # here, because Azure's clients load slowly

    stack, file = stack_options.stack_of(options), stack_options.file_of(options)
    try:
        before = file.read_bytes().decode("utf-8")
        settings = _settings(before, options.endpoint)
        if settings.get("enabled") is False:
            raise WrongTrafficError(f"ml_endpoints.{options.endpoint} is switched off: enabled: false in {file.name}")
        if options.back:
            after = rolled_back(options.endpoint, settings, _earlier(stack, options.endpoint))
        else:
            after = promoted(options.endpoint, settings, options.deployment, options.share)
        text = changed(before, options.endpoint, settings, after)
        _fits(stack, options.endpoint, after)
    except (WrongTrafficError, yaml_edit.EditError, EngineError, OSError, UnicodeDecodeError) as error:
        return refuse(error)
    _say(f"{options.endpoint}: {in_words(present(settings), after)}")
    _say("".join(difflib.unified_diff(before.splitlines(True), text.splitlines(True), file.name, file.name)), end="")
    file.write_bytes(text.encode("utf-8"))
    try:
        preview(stack, _say)
    except BaseException:
        file.write_bytes(before.encode("utf-8"))
        print(f"{file} is restored", file=sys.stderr)
        raise
    if not options.yes:
        _say(f"{file} is changed; to apply it to Azure: {COMMAND} up --stack {options.stack}")
        return 0
    bring_up(stack, WAIT_MINUTES * 60, _say)
    return 0


def changed(text: str, name: str, settings: Mapping[str, Any], after: Mapping[str, int]) -> str:
    """The stack file's text with the endpoint's new traffic: the numbers that differ, and nothing else."""
    path = ("config", key_of(SECTION), name)
    configured = settings.get("traffic")
    if not isinstance(configured, dict):
        return yaml_edit.with_value(text, (*path, "traffic"), dict(after))
    for deployment, percent in after.items():
        if configured.get(deployment, 0) != percent:
            text = yaml_edit.with_value(text, (*path, "traffic", deployment), percent)
    if ends_mirror(settings, after):
        for mirrored in settings["mirror"]:
            text = yaml_edit.with_value(text, (*path, "mirror", str(mirrored)), 0)
    return text


def _settings(text: str, name: str) -> Mapping[str, Any]:
    """The endpoint's settings in the stack file."""
    try:
        section = ((bounded_yaml.load(text) or {}).get("config") or {}).get(key_of(SECTION)) or {}
    except (bounded_yaml.BoundedYamlError, AttributeError) as error:
        raise WrongTrafficError("the stack file can't be read as YAML") from error
    if not isinstance(section, dict) or not isinstance(section.get(name), dict):
        known = ", ".join(section) if isinstance(section, dict) and section else "none"
        raise WrongTrafficError(f"the stack file declares no endpoint {name!r}; its endpoints: {known}")
    return section[name]


def _earlier(stack: Stack, name: str) -> Iterator[Mapping[str, Any]]:
    """The endpoint's settings in the stack's last updates, newest first: the engine keeps each update's configuration."""
    for update in stack.history(_UPDATES):
        recorded = (update.get("config") or {}).get(key_of(SECTION)) or {}
        if update.get("kind") != "update" or update.get("result") != "succeeded" or recorded.get("secret"):
            continue
        try:
            section = recorded.get("objectValue") or json.loads(recorded.get("value") or "{}")
        except ValueError:
            continue
        if isinstance(section, dict) and isinstance(section.get(name), dict):
            yield section[name]


def _fits(stack: Stack, name: str, after: Mapping[str, int]) -> None:
    """Rejects traffic for a stopped endpoint and for a failed deployment; a new deployment is created before its traffic."""
    found = of_deployment(stack.name, stack.deployment()) if stack.exists() else None
    endpoint_id = found.endpoints.get(name) if found is not None else None
    if found is None or not endpoint_id:
        return
    stopped, all_failed = _state(found, endpoint_id)
    if stopped:
        raise WrongTrafficError(
            f"{name} has been stopped since {stopped}; start it first: {COMMAND} start {name} --stack {stack.name}"
        )
    failed = [each for each in all_failed if after.get(each)]
    if failed:
        raise WrongTrafficError(
            f"{failed[0]} failed to deploy and doesn't answer; see why: {COMMAND} explain {name} --stack {stack.name}"
        )


def _state(found: StackView, endpoint_id: str) -> tuple[str, list[str]]:
    """Since when the endpoint is stopped, "" if it isn't; its failed deployments."""
    from azure_gpu_operations.azure import Arm  # here, as in `_change`
    from azure_gpu_operations.machine_learning import endpoints

    logging.getLogger("azure.identity").setLevel(logging.ERROR)
    with closing(Arm(found.connection)) as arm:
        endpoint = endpoints.get(arm, endpoint_id)
        since = endpoint.tags.get(STOPPED_SINCE, "") if endpoint is not None else ""
        return since, [each.name for each in endpoints.deployments(arm, endpoint_id) if each.state == "Failed"]
