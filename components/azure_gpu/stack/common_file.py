"""Merges the common file that a stack file names in `extends` under the stack's own configuration.

Mappings are merged key by key at any depth; any other value, lists too, replaces the common one, and `null` removes it.

The program merges, so it works on every backend. The engine can't: it replaces an object of Pulumi.yaml by the stack's as a whole
(pulumi.com, docs/iac/concepts/config, project level configuration), and environments of Pulumi ESC, which are merged, require
Pulumi Cloud.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import stack_file
from azure_gpu.stack.keys import PROJECT, config_key

EXTENDS = "extends"


class Extended(NamedTuple):
    """A configuration, its keys as `namespace:key` and its values as text, as the engine gives them."""

    configuration: dict[str, str]
    problems: list[Problem]


def extended(configuration: Mapping[str, str], project: str = PROJECT, folder: Path = Path()) -> Extended:
    """Merges the configuration with the file that it extends, if any. `folder`: where its path begins."""
    common, problems = read(configuration.get(config_key(EXTENDS, project), ""), project, folder)
    return Extended(merged(common, configuration), problems)


def read(name: str, project: str = PROJECT, folder: Path = Path()) -> Extended:
    """Reads the project's keys of a common file. `name`: its path; empty for none."""
    if not name:
        return Extended({}, [])
    try:
        text = (folder / name).read_text(encoding="utf-8")
        common = stack_file.configuration(text)
        encrypted = stack_file.encrypted(text)
    except FileNotFoundError:
        return Extended({}, [refused("stack.common_not_there", EXTENDS, name)])
    except (OSError, ValueError, stack_file.StackFileError) as error:  # ValueError: not UTF-8, or not a valid path
        return Extended({}, [refused("stack.common_unread", EXTENDS, name, error=error)])
    problems = _problems(common, [str(steps[0]) for steps in encrypted], project, name)
    key = config_key(EXTENDS, project)
    ours = {each: value for each, value in common.items() if each.startswith(config_key("", project)) and each != key}
    return Extended(ours, problems)


def merged(common: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Merges two configurations; `own` takes precedence."""
    found = {**common, **own}
    for key in common.keys() & own.keys():
        under, over = stack_file.decoded(common[key]), stack_file.decoded(own[key])
        if over is None:
            del found[key]
        elif isinstance(under, dict) and isinstance(over, dict):
            found[key] = json.dumps(merge(cast(Mapping[str, object], under), cast(Mapping[str, object], over)))
    return found


def merge(under: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Merges two mappings at any depth; `null` in `over` removes the value of `under`."""
    found = dict(under)
    for key, value in over.items():
        below = found.get(key)
        if value is None and key in found:
            del found[key]
        elif isinstance(below, dict) and isinstance(value, dict):
            found[key] = merge(cast(Mapping[str, object], below), cast(Mapping[str, object], value))
        else:
            found[key] = value
    return found


def _problems(common: Mapping[str, str], encrypted: list[str], project: str, name: str) -> list[Problem]:
    extends, ours = config_key(EXTENDS, project), config_key("", project)
    others = [key for key in common if not key.startswith(ours)]
    return [
        *(refused("stack.common_encrypted", f"{EXTENDS}.{key}", file=name) for key in dict.fromkeys(encrypted)),
        *(refused("stack.common_extends", f"{EXTENDS}.{key}", file=name) for key in common if key == extends),
        *(refused("stack.common_engine", f"{EXTENDS}.{key}", file=name, project=project) for key in others),
    ]
