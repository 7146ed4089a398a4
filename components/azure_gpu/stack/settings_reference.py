"""The reference of all keys of a stack file: docs/settings.md for people, docs/settings.schema.json for editors.

Both are made from the docstrings of the keys: `python -m azure_gpu.stack.settings_reference schema|reference` prints one.
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

`Pulumi.<stack>.yaml` describes one environment. Its keys stand under `config:`, each behind `azure-gpu:`, which is the name of
the project: in a project of another name they stand behind that. Beside them stand the provider's own, `azure-native:…`.
[settings.schema.json](settings.schema.json) is the same list for editors. Both are made from the docstrings of the settings by
`make docs`. What the components behind the keys declare and give back is in [components/](components/README.md).

- **Dates** are written `as_of: "2019-06-01"`, in quotes. Of a bare one YAML makes a timestamp, which is read as the same day.
- **A part of the foundation** is `create`, or `existing: <ARM id>` of one, in any subscription that the provider's login may
  read; the resource group alone has to be in the stack's. What exists is looked up while the program runs, never changed, never
  deleted, and it doesn't enter the stack's state; for another subscription the state gets a provider with the same login.
- **Secrets** are written by the engine, which encrypts them, and not by hand:
  `pulumi config set --secret --path 'container_groups.train.secret_environment.TOKEN'` asks for the value.
- **`overrides`** sets any property that azure-native has of a resource, beside or in place of what the program sets:
  `overrides: {networkConfiguration: {publicIPAddressConfiguration: {provision: NoPublicIPAddresses}}}` of a pool. Names are
  checked against azure-native's SDK, objects are merged, other values replace what is set, null removes it. A preview names
  what is overridden. Values are Azure's to judge: prices, dates and roles still follow the other keys. What has no entry of its
  own, such as a role or a network interface, has no overrides.
- **`enabled: false`** switches a part off: it stays in the file, its keys and types are checked, and nothing of it is declared,
  so that no date, size or quota refuses it. A preview names the parts that are off. `pulumi up` deletes what such a part declared
  before; `operations up` first requires `--delete NAME` where that holds data or serves requests. What needs a part that is off
  is refused: a pool whose Batch account is off, an endpoint whose workspace or compute, a compute whose cluster or machine, a job
  whose GPU pool. An endpoint whose deployments are all off stays, and a share of 0 in `traffic` may stay for one that is off. The
  foundation has no such switch, and the environment of jobs goes with the last job.
- **`opts`** of an entry are the engine's own: `protect`, `ignore_changes` (properties as in `overrides`) and `custom_timeouts`.
- **`assign_roles: false`** is for whoever may not assign roles. Preview and update then print each `az role assignment create`
  that an administrator runs once identity, registry, storage account and cluster are there. Until then Azure refuses a group or a
  job that pulls from the registry, nodes reach neither registry nor storage, and a cluster lets nobody in; afterwards `pulumi up`
  completes it.
- **`expires_after`** is the last day of a group, a job, a pool or a cluster, and whatever has a GPU needs one. It becomes the tag
  `expires-at`, by which people and tools find what is overdue. Azure deletes nothing by it. After that day the part stays as
  it is, whatever its section says, until the day is a later one or the part is removed; the rest of the stack goes on. Where
  Azure has announced that a size, an image, a version or another thing in use ends before that day, preview warns, however
  far away the end is.
- **`budget`** is what a month of the stack may cost, in USD: a budget in Azure, by which it sends mails and stops nothing. It is
  the resource group's, and counts what others have in a group that exists, too. Nodes of a cluster cost in a group of their own:
  with one, the budget is the subscription's, filtered by the groups. It needs `Microsoft.Consumption/budgets/write` there, which
  Owner, Contributor and Cost Management Contributor have. Azure counts in the currency of the billing account; where that isn't
  USD, set `billing_amount`. A budget starts with the month of its first `up` and keeps that start.
- **A pool that is replaced** stands beside its successor for a while, under another name, and takes twice the quota so long;
  `replace: drain-first` takes the old one away first. Commands find either by its name in the stack file. A cluster's GPU pool is
  replaced in the same way, and nothing else of the cluster with it.
- **A cluster** shows all its pools in its own body. After a `pulumi refresh` a preview is empty all the same, whatever the
  autoscaler did; the first change of a GPU pool after it updates the cluster, too, which changes nothing on it.
"""
_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
_DESCRIPTION = re.compile(r"(?:Plain: |Wired: )?(?P<meaning>.*?)(?: ?Default: (?P<default>.*?)\.)?")
TABLE = "| key | type | default | |\n| --- | --- | --- | --- |"


def reference(stack_file: dict[str, Any]) -> str:
    """The whole page. `stack_file` is the schema of what a stack file says to this program."""
    properties: dict[str, dict[str, Any]] = stack_file["properties"]
    needed: list[str] = stack_file["required"]
    tables = ["\n## The stack\n", TABLE, *(row(key, node, key in needed) for key, node in properties.items())]
    for key, node in properties.items():
        rows = list(rows_below(node, key))
        if rows:
            tables += [f"\n## `{key}`\n", TABLE, *rows]
    return "\n".join([_HEAD.rstrip("\n"), *tables]) + "\n"


def rows_below(node: dict[str, Any], path: str) -> Iterator[str]:
    """The rows of the keys below a key, at any depth."""
    for key in keys_below(node, path):
        yield row(key.path, key.node, key.needed)


class Key(NamedTuple):
    """A key of a stack file or of a component's arguments."""

    path: str  # what a user names is `<name>`, an entry of a list `[]`
    node: dict[str, Any]  # its JSON Schema
    needed: bool


def every_key(stack_file: dict[str, Any]) -> Iterator[Key]:
    """All keys of a stack file, in its order."""
    for key, node in stack_file["properties"].items():
        yield Key(key, node, key in stack_file["required"])
        yield from keys_below(node, key)


def keys_below(node: dict[str, Any], path: str) -> Iterator[Key]:
    """The keys below a key, at any depth."""
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
    """The object that a shorthand stands for; any other node as it is."""
    match node:
        case {"anyOf": [{"enum": _}, written]}:
            return written
        case _:
            return node


def row(path: str, node: dict[str, Any], needed: bool) -> str:
    """The row of one key."""
    match = _DESCRIPTION.fullmatch(" ".join(str(node["description"]).split()))
    meaning, default = (match["meaning"], match["default"]) if match else ("", None)
    cells = [f"`{path}`", _type(node), default or ("needed" if needed else ""), meaning[:1].upper() + meaning[1:]]
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
    """The JSON Schema of a whole stack file, `Pulumi.<stack>.yaml`; keys of other namespaces are left to their owners."""
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
        prog="python -m azure_gpu.stack.settings_reference", description="Prints what a stack file can say."
    )
    parser.add_argument("form", nargs="?", choices=("schema", "reference"), default="schema", help="default: schema")
    if parser.parse_args().form == "schema":
        print(json.dumps(editor_schema(), indent=2, ensure_ascii=False))
    else:
        print(reference(schema(StackFile)), end="")


if __name__ == "__main__":
    main()
