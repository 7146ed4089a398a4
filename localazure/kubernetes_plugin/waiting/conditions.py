"""What the annotation `pulumi.com/waitFor` requests: `condition=Type[=Status]`, `jsonpath={.path}[=value]`, or a JSON list.

Of JSONPath the plain form is understood: names, `['names']` and `[indexes]`. Other expressions are refused explicitly.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from localazure.kubernetes_plugin import objects
from localazure.kubernetes_plugin.objects import Object
from localazure.kubernetes_plugin.waiting.readiness import READY, Readiness, condition

_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+)\]|\['([^']+)'\]")


def of(inputs: Object) -> Callable[[Object], Readiness] | None:
    """The check that an object's annotation requests, None where it has none. ValueError where it can't be read."""
    text = objects.annotation(inputs, objects.WAIT_FOR)
    return parsed(text) if text else None


def parsed(text: str) -> Callable[[Object], Readiness]:
    """The check that the annotation's text means. ValueError where it can't be read."""
    try:
        listed = json.loads(text)
    except ValueError:
        listed = text
    expressions = listed if isinstance(listed, list) else [text]
    if not expressions:
        raise ValueError("pulumi.com/waitFor: at least one condition must be specified")
    checks = [_check(str(each)) for each in expressions]

    def every(thing: Object) -> Readiness:
        return next((found for check in checks if not (found := check(thing)).ready), READY)

    return every


def _check(expression: str) -> Callable[[Object], Readiness]:
    if expression.startswith("condition="):
        name, _, status = expression.removeprefix("condition=").partition("=")
        wanted = status or "True"
        waiting = Readiness(f'Waiting for condition "{name}" to be {wanted}')
        return lambda thing: READY if str(condition(thing, name).get("status")).lower() == wanted.lower() else waiting
    if expression.startswith("jsonpath="):
        where, _, value = expression.removeprefix("jsonpath=").partition("}")
        steps = _steps(where.removeprefix("{"), expression)
        wanted_value = value.removeprefix("=") if value else None
        waiting = Readiness(f"Waiting for {expression}")
        return lambda thing: READY if _matches(_found(thing, steps), wanted_value) else waiting
    raise ValueError(f'pulumi.com/waitFor takes "jsonpath=" or "condition=", but got "{expression}"')


def _steps(path: str, expression: str) -> list[str | int]:
    path = path if path.startswith((".", "[")) else f".{path}"
    found = list(_STEP.finditer(path))
    if "".join(each.group(0) for each in found) != path:
        raise ValueError(
            f'pulumi.com/waitFor: this stand-in understands plain paths such as {{.status.phase}}, not "{expression}"'
        )
    return [int(each.group(2)) if each.group(2) else each.group(1) or each.group(3) for each in found]


def _found(thing: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(thing, dict) and isinstance(step, str):
            thing = thing.get(step)
        elif isinstance(thing, list) and isinstance(step, int) and step < len(thing):
            thing = thing[step]
        else:
            return None
    return thing


def _matches(found: Any, wanted: str | None) -> bool:
    if found is None:
        return False
    return wanted is None or (str(found).lower() if isinstance(found, bool) else str(found)) == wanted
