"""Judges bodies by the table of refusals, `localazure/evidence/refusals.tsv`: the first row that applies refuses.

A row names a type, the API versions that it holds for, the path of a property, and a condition, in the words of
`azure_gpu.formats.conditions`. `{value}`, `{was}`, `{path}` and any path in braces are filled into messages and targets; a target
`-` is none.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from azure_gpu.formats.conditions import Judged, Value, matching, others, text_of, value_at
from localazure import evidence
from localazure.arm import requested_version
from localazure.arm.errors import ArmError
from localazure.arm.store import Body
from localazure.evidence import Refusal

_WORD = re.compile(r"\{([^{}\s]+)\}")

Form = Callable[[Refusal, str, str, Any], ArmError]


def plain(row: Refusal, message: str, target: str, value: Any) -> ArmError:  # noqa: ARG001
    """The form that most services have."""
    return ArmError(int(row.status), row.code, message, target=target)


def judge(
    arm_type: str,
    body: Body,
    as_of: date,
    *,
    before: Body | None = None,
    facts: Mapping[str, Any] | None = None,
    form: Form = plain,
) -> None:
    """ArmError where a row refuses the body. `before`: what was there. `form`: how the service words a refusal."""
    judged = Judged(body, before, {"date": as_of.isoformat(), **(facts or {})})
    version = requested_version.current()
    for row in evidence.refusals().get(arm_type.lower(), ()):
        if row.versions_from <= (version or row.versions_from) and not (row.versions_to and row.versions_to < version):
            for found in matching(row.path, row.condition, judged):
                target = _filled(row.target, found, judged) if row.target else found.path
                raise form(row, _filled(row.message, found, judged), "" if target == "-" else target, found.value)


def _filled(text: str, found: Value, judged: Judged) -> str:
    def word(match: re.Match[str]) -> str:
        name = match[1]
        if name == "value":
            return text_of(found.value)
        if name == "path":
            return found.path
        if name == "was":
            return text_of(value_at(judged.before, found.path))
        return ",".join(text_of(each) for each in others(name, found, judged))

    return _WORD.sub(word, text)
