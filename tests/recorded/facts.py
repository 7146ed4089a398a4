"""What recorded sessions show, as a table without the sessions: which status, headers, codes and members each type answers.

    python -m tests.recorded.facts ../shared/recordings > tests/recorded/answers.json

`further.json` is the same of further public sessions, which were read once and aren't kept. Nothing of a session goes into a
table but facts about Azure: no name, no request, and of the values only the service's own. Types that the embedded Azure doesn't
serve are left out.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from localazure import wiring
from localazure.arm.errors import ArmError
from localazure.arm.paths import Target, segments_of, target_of
from tests.recorded import sessions
from tests.recorded.members import comparable, flat
from tests.recorded.replay import HEADERS
from tests.recorded.sessions import Exchange, Session

TABLES = (Path(__file__).with_name("answers.json"), Path(__file__).with_name("further.json"))
DATA_PLANE = "Microsoft.Batch/batchAccounts, data plane"
THERE, ABSENT, NO_PARENT, NO_GROUP = "", "it isn't there", "its parent is gone", "its group is gone"
_KINDS = {kind.arm_type.lower(): kind for kind in wiring.without_backends()}
_SETTLED = {"succeeded", ""}
_OF_THE_CALLER = ("bytype", "quota")  # who asks, and what the subscription has been granted
_MADE_UP = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-|[\w+/=]{32}|\d{4}-\d\d-\d\d|[@{]", re.IGNORECASE)  # ids, keys, days, people


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a session, by what was asked."""

    session: Session
    exchange: Exchange
    arm_type: str
    operation: str  # create, update, patch, read, list, delete, or a method and the action's pattern: "post listKeys"
    when: str  # what was missing: see THERE and its like


@dataclass(slots=True)
class Known:
    """What a session's requests so far have made and taken away, by path in lower case."""

    made: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)

    def missing(self, target: Target) -> str:
        if target.id is None:
            return NO_GROUP if self._is_gone(target.scope) else THERE
        group = "/".join(target.id.text.split("/")[:5])
        if target.id.text != group and self._is_gone(group):
            return NO_GROUP
        if self._is_gone(target.id.scope):
            return NO_PARENT
        return ABSENT if target.id.key not in self.made else THERE

    def saw(self, target: Target, exchange: Exchange) -> None:
        if target.id is None or target.tail or exchange.status >= 300:
            return
        key = target.id.key
        if exchange.method == "DELETE":
            self.made = {each for each in self.made if each != key and not each.startswith(f"{key}/")}
            self.gone.add(key)
        elif key not in self.gone or exchange.method == "PUT":  # a GET while it is being deleted makes nothing
            self.made.add(key)
            self.gone.discard(key)

    def _is_gone(self, path: str) -> bool:
        key = path.lower()
        return any(key == each or key.startswith(f"{each}/") for each in self.gone)


def answers(session: Session) -> Iterator[Answer]:
    """Every answer about a resource of a type that is served, and of Batch's data plane, but the polls of long operations."""
    known = Known()
    # Children that aren't served look like actions of their parent, but for their PUT.
    written = {each.path.lower() for each in session.exchanges if each.method == "PUT"}
    for each in session.exchanges:
        if each.in_batch:
            yield Answer(session, each, DATA_PLANE, f"{each.method.lower()} {pattern(segments_of(each.path))}", THERE)
        if not each.in_arm or each.of_operation or each.status == 429:
            continue
        try:
            target = target_of(segments_of(each.path), _KINDS)
        except ArmError:
            continue
        if target.tail and (each.method not in ("GET", "POST") or each.path.lower() in written):
            continue
        missing = known.missing(target)
        if each.status < 400 and missing in (ABSENT, NO_PARENT, NO_GROUP) and each.method != "PUT":
            missing = THERE  # it was there before the session began, or still is
        yield Answer(session, each, target.kind.arm_type, _operation(each, target, missing), missing)
        known.saw(target, each)


def _operation(each: Exchange, target: Target, missing: str) -> str:
    if target.id is None:
        return "list"
    if target.tail:
        return f"{each.method.lower()} {pattern(target.tail.split('/'))}"
    names = {"PATCH": "patch", "GET": "read", "HEAD": "head", "DELETE": "delete"}
    return names.get(each.method) or ("create" if missing != THERE else "update")


def pattern(words: Sequence[str]) -> str:
    """`jobs/one/tasks/two` as `jobs/{}/tasks/{}`."""
    return "/".join(word if i % 2 == 0 else "{}" for i, word in enumerate(words))


def table(found: Iterable[Answer]) -> dict[str, Any]:
    """The sessions, and by type: the forms of answers, and the members that the service fills in."""
    by_type: dict[str, list[Answer]] = defaultdict(list)
    for each in found:
        by_type[each.arm_type].append(each)
    met = {each.session.name: each.session for of in by_type.values() for each in of}
    return {
        "sessions": {name: {"source": met[name].source, "recorded": met[name].day} for name in sorted(met)},
        "types": {name: {"answers": _forms(of), **_members(of)} for name, of in sorted(by_type.items())},
    }


def _forms(found: Sequence[Answer]) -> list[dict[str, Any]]:
    """Each combination of operation, status, headers and code once, with how many sessions show it, and the newest of them."""
    by_form: dict[tuple[Any, ...], list[Answer]] = defaultdict(list)
    for each in found:
        when = THERE if each.operation == "create" and each.when == ABSENT else each.when
        headers = tuple(name for name in HEADERS if name in each.exchange.headers)
        by_form[each.operation, when, each.exchange.status, headers, each.exchange.error_code or ""].append(each)
    return [
        {
            "operation": operation,
            **({"when": when} if when else {}),
            "status": status,
            **({"headers": list(headers)} if headers else {}),
            **({"code": code} if code else {}),
            "versions": sorted({_version(each) for each in of}),
            "seen": len({each.session.name for each in of}),
            "newest": max((each.session for each in of), key=lambda each: (each.recorded or date.min, each.name)).name,
        }
        for (operation, when, status, headers, code), of in sorted(by_form.items())
    ]


def _version(each: Answer) -> str:
    return each.exchange.query.get("api-version", "")


def _members(found: Sequence[Answer]) -> dict[str, Any]:
    """What the service fills in, in the newest version that sessions of 2024 and later show and that isn't a preview.

    Of resources that the session made itself: what else lies about was made by a service, or with a request that nobody knows.
    """
    chosen = [each for each in found if each.session.recent and _shows(each)]
    version = max((_version(each) for each in chosen), key=_age, default="")
    chosen = [each for each in chosen if _version(each) == version]
    filled = {name: _filled([each for each in chosen if each.operation == name]) for name in ("create", "read")}
    kept = {name: members for name, members in filled.items() if members}
    return {"version": version, "from": sorted({each.session.name for each in chosen})[:3], "members": kept} if kept else {}


def _shows(each: Answer) -> bool:
    """Whether it shows one resource, and where it was read, one that nothing is done with any more."""
    body = each.exchange.response
    if each.operation not in ("create", "read") or each.exchange.status >= 300 or not isinstance(body, dict) or not _given(each):
        return False
    state = (body.get("properties") or {}).get("provisioningState") or ""
    return "value" not in body and (each.operation != "read" or state.lower() in _SETTLED)


def _filled(found: Sequence[Answer]) -> dict[str, Any]:
    """The paths that all answers have, and that some answer has though no request gave them; with the value where it is one."""
    everywhere: set[str] | None = None
    values: dict[str, list[Any]] = defaultdict(list)
    for each in found:
        given, members = _given(each), general(each.exchange.response)
        everywhere = set(members) if everywhere is None else everywhere & set(members)
        for path, value in members.items():
            if path.lower() not in given:
                values[path].append(value if _is_constant(path, value, each) else None)
    return {
        path: _one(values[path]) for path in sorted((everywhere or set()) & set(values)) if path not in ("id", "name", "type")
    }


def general(body: Any) -> dict[str, list[Any]]:
    """The members of a body with the values that they have, items of lists under one path: `properties.containers[].name`."""
    result: dict[str, list[Any]] = defaultdict(list)
    for path, value in flat(body).items():
        result[_general_path(path)].append(value)
    return result


def _general_path(path: str) -> str:
    """Without positions in lists and without ids that are names of members."""
    text = "".join("[]" if i % 2 else part for i, part in enumerate(_positions(path)))
    head, slash, _ = text.partition("./subscriptions/")
    if not slash:
        return text
    return f"{head}.{{id}}.{text.rsplit('.', 1)[1]}"


def _positions(path: str) -> list[str]:
    """`a[0].b` as `a`, `0`, `.b`."""
    parts: list[str] = []
    for i, piece in enumerate(path.split("[")):
        if i == 0:
            parts.append(piece)
        else:
            position, _, rest = piece.partition("]")
            parts += [position, rest]
    return parts


def _given(each: Answer) -> set[str]:
    """The paths of every request that the session sent for the resource, in lower case."""
    sent = (other.request for other in each.session.exchanges if other.path.lower() == each.exchange.path.lower())
    return {path.lower() for body in sent if body for path in general(body)}


def _is_constant(path: str, values: Sequence[Any], each: Answer) -> bool:
    """Whether the values are the service's own words: no name, place or id of the session, and nothing that a request gave."""
    words = {word.lower() for word in segments_of(each.exchange.path) if len(word) > 3}
    requests = [other.request for other in each.session.exchanges if other.request]
    words |= {str(value).lower().replace(" ", "") for body in requests for value in flat(body).values() if isinstance(value, str)}
    for value in values:
        if not comparable(path, value) or path.lower().endswith(_OF_THE_CALLER) or _MADE_UP.search(str(value)):
            return False
        text = str(value).lower().replace(" ", "")
        if isinstance(value, str) and (text in words or any(len(word) > 5 and word in text for word in words)):
            return False
    return True


def _one(values: Sequence[Any]) -> Any:
    """The single value of all, or None, which stands for any."""
    alike = {json.dumps(each[0] if each and len({json.dumps(v) for v in each}) == 1 else None) for each in values}
    return json.loads(alike.pop()) if len(alike) == 1 else None


def read() -> dict[str, Any]:
    """The types of both tables, with the forms of both, and the members of the newer version; in doubt the first table's."""
    first, second = (json.loads(each.read_text(encoding="utf-8"))["types"] for each in TABLES)
    joined: dict[str, Any] = {}
    for name in sorted({*first, *second}):
        both = [each for each in (first.get(name), second.get(name)) if each]
        newest = max(both, key=lambda each: _age(each.get("version", "")))
        joined[name] = {**newest, "answers": [form for each in both for form in each["answers"]]}
    return joined


def _age(version: str) -> tuple[bool, str]:
    """By which previews come before every other version."""
    return "preview" not in version, version


def main(arguments: Sequence[str]) -> int:
    found = (answer for file in sessions.files(map(Path, arguments)) for answer in answers(sessions.read(file)))
    print(json.dumps(table(found), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
