"""Generates the reference of all keys of a stack file: docs/settings.md for people, docs/settings.schema.json for editors.

Both come from the docstrings of the keys: `python -m azure_gpu.stack.settings_reference schema|reference` prints one.
"""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from azure_gpu.shared.validation import OUTPUT, schema
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.keys import PROJECT, config_key

_HEAD = """# Every key of a stack file

`Pulumi.<stack>.yaml` describes one environment. Its keys are under `config:`, each with the prefix `azure-gpu:`, the name of the
project; in a project of another name the prefix is that name. The provider's own keys, `azure-native:…`, are beside them.
[settings.schema.json](settings.schema.json) is the same list for editors. Both are generated from the docstrings of the settings
by `make renew`. What the components declare and return is in [components/](components/README.md).

- **Dates** are written in quotes: `as_of: "2019-06-01"`. YAML parses an unquoted date as a timestamp, which is read as the same
  day.
- **A part of the foundation** is `create`, or `existing: <ARM id>`, in any subscription that the provider's login may read; only
  the resource group must be in the stack's. An existing part is looked up while the program runs, never changed or deleted, and
  doesn't enter the stack's state; for another subscription the state gets a provider with the same login.
- **Secrets** are encrypted by the engine: `pulumi config set --secret --path 'container_groups.train.secret_environment.TOKEN'`
  prompts for the value. Don't write them by hand.
- **`overrides`** sets any property that azure-native has for a resource, in addition to or in place of the program's:
  `overrides: {networkConfiguration: {publicIPAddressConfiguration: {provision: NoPublicIPAddresses}}}` of a pool. Names are
  validated against azure-native's SDK, objects are merged, other values replace what is set, null removes it. A preview lists the
  overridden properties. Values are validated only by Azure: prices, dates and roles still follow the other keys. Resources
  without a separate entry, such as a role or a network interface, have no overrides.
- **`enabled: false`** switches a part off: it stays in the file, its keys and types are validated, but nothing of it is declared,
  and its dates, sizes and quotas aren't checked. A preview lists the parts that are off. `pulumi up` deletes what such a part
  declared before; `operations up` first requires `--delete NAME` where that holds data or serves requests. A part that requires
  one that is off is an error: a pool and its Batch account, an endpoint and its workspace or compute, a compute and its cluster
  or machine, a job and its GPU pool. An endpoint whose deployments are all off stays, and `traffic` may keep a share of 0 for a
  deployment that is off. The foundation has no such switch, and the environment of jobs is deleted with the last job.
- **`opts`** of an entry are the engine's options: `protect`, `ignore_changes` (properties as in `overrides`) and
  `custom_timeouts`.
- **`assign_roles: false`** is for users without permission to assign roles. Preview and update then print each
  `az role assignment create` for an administrator to run once identity, registry, storage account and cluster exist. Until then
  Azure rejects a group or a job that pulls from the registry, nodes can't access registry and storage, and a cluster can't be
  accessed; afterwards `pulumi up` completes the rest.
- **`expires_after`** is the last day of a group, a job, a pool or a cluster, and required for everything with a GPU. It becomes
  the tag `expires-at`, by which people and tools find overdue resources. Azure deletes nothing by it. After that day the part
  stays unchanged, regardless of its section, until a later day is set or the part is removed; the rest of the stack can be
  updated. If Azure has announced the end of a size, an image, a version or anything else in use before that day, preview warns,
  however far away the end is.
- **`budget`** is a budget in Azure for a month of the stack, in USD; it sends mails and stops nothing. Its scope is the resource
  group, including resources of others in an existing group. Nodes of a cluster are billed in a separate group: with a cluster,
  the budget's scope is the subscription, filtered by the groups. It requires `Microsoft.Consumption/budgets/write` there, which
  Owner, Contributor and Cost Management Contributor have. Azure counts in the currency of the billing account; if that isn't USD,
  set `billing_amount`. A budget starts with the month of its first `up` and keeps that start.
- **A pool that is replaced** exists beside its successor for a while, under another name, and needs twice the quota during the
  overlap; `replace: drain-first` deletes the old one first. Commands find either by its name in the stack file. A GPU pool of a
  cluster is replaced in the same way, without other changes of the cluster.
- **A cluster** lists all its pools in its own body. After a `pulumi refresh` a preview is still empty, also after autoscaling;
  the first change of a GPU pool after it also updates the cluster, which changes nothing on it.
"""
_WORDS = {"string": "string", "integer": "integer", "number": "number", "boolean": "`true` or `false`"}
_DESCRIPTION = re.compile(r"(?:Plain: |Wired: )?(?P<meaning>.*?)(?: ?Default: (?P<default>.*?)\.)?")
TABLE = "| key | type | default | |\n| --- | --- | --- | --- |"


def reference(stack_file: dict[str, Any]) -> str:
    """Builds the whole page. `stack_file`: the JSON Schema of `StackFile`."""
    properties: dict[str, dict[str, Any]] = stack_file["properties"]
    needed: list[str] = stack_file["required"]
    tables = ["\n## The stack\n", TABLE, *(row(key, node, key in needed) for key, node in properties.items())]
    for key, node in properties.items():
        rows = list(rows_below(node, key))
        if rows:
            tables += [f"\n## `{key}`\n", TABLE, *rows]
    return "\n".join([_HEAD.rstrip("\n"), *tables]) + "\n"


def rows_below(node: dict[str, Any], path: str) -> Iterator[str]:
    """Yields the rows of the keys below a key, at any depth."""
    for key in keys_below(node, path):
        yield row(key.path, key.node, key.needed)


class Key(NamedTuple):
    """A key of a stack file or of a component's arguments."""

    path: str  # user-defined names are `<name>`, entries of a list `[]`
    node: dict[str, Any]  # its JSON Schema
    needed: bool


def every_key(stack_file: dict[str, Any]) -> Iterator[Key]:
    """Yields all keys of a stack file, in order."""
    for key, node in stack_file["properties"].items():
        yield Key(key, node, key in stack_file["required"])
        yield from keys_below(node, key)


def keys_below(node: dict[str, Any], path: str) -> Iterator[Key]:
    """Yields the keys below a key, at any depth."""
    if "additionalProperties" in node and "properties" not in node:
        yield from keys_below(node["additionalProperties"], f"{path}.<name>")
        return
    if "items" in node:
        yield from keys_below(node["items"], f"{path}[]")
        return
    written = written_out(node)
    for key, below in written.get("properties", {}).items():
        here = f"{path}.{key}" if path else key
        yield Key(here, below, key in written["required"])
        yield from keys_below(below, here)


def written_out(node: dict[str, Any]) -> dict[str, Any]:
    """Returns the object form of a node with a shorthand; any other node unchanged."""
    match node:
        case {"anyOf": [{"enum": _}, written]}:
            return written
        case _:
            return node


def row(path: str, node: dict[str, Any], needed: bool) -> str:
    """Builds the row of one key."""
    match = _DESCRIPTION.fullmatch(" ".join(str(node["description"]).split()))
    meaning, default = (match["meaning"], match["default"]) if match else ("", None)
    cells = [f"`{path}`", _type(node), default or ("required" if needed else ""), meaning[:1].upper() + meaning[1:]]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _type(node: dict[str, Any]) -> str:
    match node:
        case {"anyOf": [{"enum": shorthands}, _]}:
            return f"{', '.join(f'`{_yaml(each)}`' for each in shorthands)} or an object"
        case {"anyOf": [*forms, {"properties": {"secure": _}}]}:
            return f"{_either(forms)}, may be encrypted"
        case {"anyOf": [*forms]}:
            return _either(forms)
        case {"title": title}:
            return "an output" if title == OUTPUT else f"a `{title}`"
        case {"enum": choices}:
            return ", ".join(f"`{each}`" for each in choices)
        case {"items": items}:
            return f"list of {_type(items)}"
        case {"properties": _}:
            return "object"
        case {"additionalProperties": value}:
            return f"by name: {_type(value)}"
        case _:
            return _WORDS.get(node.get("type", ""), "anything")


def _either(forms: Sequence[dict[str, Any]]) -> str:
    *first, last = [_type(each) for each in forms]
    return f"{', '.join(first)} or {last}" if first else last


def _yaml(word: object) -> str:
    return str(word).lower() if isinstance(word, bool) else str(word)


def editor_schema() -> dict[str, Any]:
    """Builds the JSON Schema of a whole stack file, `Pulumi.<stack>.yaml`; keys of other namespaces aren't validated."""
    program = schema(StackFile)
    keys = {config_key(key): value for key, value in program["properties"].items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Stack files of {PROJECT}",
        "type": "object",
        "properties": {
            "config": {
                "type": "object",
                "properties": keys,
                "propertyNames": {"anyOf": [{"enum": list(keys)}, {"not": {"pattern": f"^{PROJECT}:"}}]},
                "required": [config_key(key) for key in program["required"]],
            }
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m azure_gpu.stack.settings_reference",
        description="Prints the reference or the JSON Schema of a stack file.",
    )
    parser.add_argument("form", nargs="?", choices=("schema", "reference"), default="schema", help="default: schema")
    if parser.parse_args().form == "schema":
        print(json.dumps(editor_schema(), indent=2, ensure_ascii=False))
    else:
        print(reference(schema(StackFile)), end="")


if __name__ == "__main__":
    main()
