"""What the policies say, in rows of `rules.tsv`: the type of resource, the path, and which value violates the policy.

`true`: only true; `not true` and `not false`: every other value, and none; a word: only that; `not` and a word: every other that
is set. A value that isn't known before an update violates none. `code`: a rule of this package decides, and takes the row's texts
by `problem`.
"""

import csv
import functools
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.sources import Source
from azure_gpu_policies.known import UNKNOWN, at, is_word
from azure_gpu_policies.model import Policy, PolicySettings, policy
from azure_gpu_policies.resources import Resource

_TOKEN = "azure-native:"  # noqa: S105 - before a type of resource


@functools.cache
def _rows() -> list[Mapping[str, str]]:
    with Path(__file__).with_suffix(".tsv").open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE))


def problems(name: str, resource: Resource, _: PolicySettings | None = None) -> Iterator[Problem]:
    """Returns what the rows of a policy find in a resource."""
    for row in _rows():
        value = at(resource.properties, *row["path"].split("."))
        if row["policy"] != name or resource.type != f"{_TOKEN}{row['type']}" or not _violates(value, row["violated by"]):
            continue
        yield _problem(row, resource.path(row["path"]), value, {})


def problem(name: str, path: str, value: object = None, of: str = "", **words: object) -> Problem:
    """The problem that a rule in code has found. `of`: the row's type, where several have the name; `words` fill its texts."""
    kind = of.removeprefix(_TOKEN)
    [row] = [
        each for each in _rows() if each["policy"] == name and each["violated by"] == "code" and (not of or each["type"] == kind)
    ]
    return _problem(row, path, value, words)


def _problem(row: Mapping[str, str], path: str, value: object, words: Mapping[str, object]) -> Problem:
    message, allowed, fix = (row[column].format_map(words) for column in ("message", "allowed", "fix"))
    source = str(Source(row["source"], "observed on", date.fromisoformat(row["read"]))) if row["read"] else row["source"]
    return Problem(path, message, value, allowed, fix, source=source)


def of_rows(name: str) -> Policy:
    """Returns a policy that has only rows."""
    return policy(name, of_resource=functools.partial(problems, name))


def _violates(value: object, by: str) -> bool:
    if by in ("true", "not true", "not false"):
        return value is True if by == "true" else value is not UNKNOWN and value is not (by == "not true")
    word = by.removeprefix("not ")
    return is_word(value, word) if word == by else isinstance(value, str) and bool(value) and not is_word(value, word)
