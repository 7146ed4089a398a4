"""Which jobs of a workflow of GitHub Actions run on an event: their conditions, as far as these workflows use expressions.

Source: GitHub Docs, "Evaluate expressions in workflows and actions". A missing property is null, which is equal to "".
"""

import json
import re
from collections.abc import Mapping
from typing import Any

_TOKEN = re.compile(r"'(?:[^']|'')*'|&&|\|\||!=|==|!|[\w-]+\(\)?|[A-Za-z_][\w-]*(?:\.(?:[\w-]+|\*))*|\S")
_WORDS = {"&&": " and ", "||": " or ", "!": " not ", "true": "True", "false": "False", "always()": "True"}


def running(workflow: Mapping[str, Any], contexts: Mapping[str, Any]) -> list[str]:
    """The names of the jobs that run, if every job that runs succeeds."""
    found: list[str] = []
    for name, job in workflow["jobs"].items():
        needs = job.get("needs", [])
        needs = [needs] if isinstance(needs, str) else needs
        results = {each: {"result": "success" if each in found else "skipped"} for each in needs}
        condition = str(job.get("if", "true"))
        well = "always()" in condition or all(each in found for each in needs)
        if well and evaluated(condition, {**contexts, "needs": results}):
            found.append(name)
    return found


def evaluated(expression: str, contexts: Mapping[str, Any]) -> Any:
    """The value of an expression, by Python's operators."""
    names = {
        "contains": lambda where, what: what in where,
        "fromJSON": json.loads,
        "at": lambda path: _at(contexts, path.split(".")),
    }
    return eval("".join(map(_translated, _TOKEN.findall(expression.strip()))), {"__builtins__": {}}, names)


def _translated(token: str) -> str:
    if token in _WORDS:
        return _WORDS[token]
    if token.startswith("'"):
        return repr(token[1:-1].replace("''", "'"))
    return f"at({token!r})" if re.fullmatch(r"[A-Za-z_][\w.*-]*", token) else token


def _at(value: Any, steps: list[str]) -> Any:
    for index, step in enumerate(steps):
        if step == "*":
            return [_at(each, steps[index + 1 :]) for each in value or ()]
        value = value.get(step, "") if isinstance(value, Mapping) else ""
    return value
