"""Evaluates a template's JSON in a frame, which defines its parameters, variables and loops.

The result tells what is deferred, what is secret, and which resources are referred to. Problems go to the template's list; one
mistake is reported once, and not where it is used."""

import difflib
from collections.abc import Iterator

from azure_gpu.formats.arm_template import context_functions, syntax, text_functions, value_functions
from azure_gpu.formats.arm_template.frame import Ask, Frame, Loop, Made, Names
from azure_gpu.formats.arm_template.syntax import Call, Literal, Member, Node
from azure_gpu.formats.arm_template.values import (
    DEFERRED,
    Arguments,
    Deferred,
    Function,
    PartlyKnown,
    RefusedError,
    UnresolvedError,
    Value,
    counted,
    found,
    is_int,
    is_list,
    is_object,
    kind_of,
    unknown,
)
from azure_gpu.formats.lenient_json import member

MAX_COPIES = 800  # Microsoft Learn, azure-resource-manager/templates/copy-resources: the most that a loop may run
_PURE: dict[str, Function] = {each.name.lower(): each for each in (*text_functions.FUNCTIONS, *value_functions.FUNCTIONS)}
_ALL: dict[str, Function] = {**_PURE, **{each.name.lower(): each for each in context_functions.FUNCTIONS}}
# Functions that Azure has and this evaluator hasn't.
_NOT_READ = (
    "base64ToJson", "cidrHost", "cidrSubnet", "dataUri", "dataUriToString", "dateTimeAdd", "dateTimeFromEpoch",
    "dateTimeToEpoch", "deployer", "fail", "filter", "flatten", "groupBy", "indexFromEnd", "lambda", "lambdaVariables",
    "managementGroup", "managementGroupResourceId", "map", "mapValues", "objectKeys", "parseCidr", "pickZones", "providers",
    "reduce", "references", "shallowMerge", "sort", "toLogicalZone", "toObject", "toPhysicalZone", "tryGet", "tryIndexFromEnd",
    "uri",
)  # fmt: skip


class Reading:
    """One part of a template, read in a frame. `deferrable`: it may hold what only the running deployment knows."""

    def __init__(self, frame: Frame, *, deferrable: bool = False, default: bool = False) -> None:
        self.frame = frame
        self.unresolved: dict[str, str] = {}
        self.secrets: list[str] = []
        self.asked: list[str] = []  # first arguments of `reference` and `list…`
        self.failed = False
        self._deferrable = deferrable
        self.in_default = default
        self._secret = False

    # JSON

    def value(self, raw: Value, place: str, path: str = "") -> Value:
        """`raw` evaluated. `place` is where it stands in the document, `path` where in the result."""
        try:
            with self.frame.shared.deeper():
                return self._inner(raw, place, path)
        except RefusedError as error:
            self._refuse(place, path, error, None)
            return None

    def _inner(self, raw: Value, place: str, path: str) -> Value:
        if isinstance(raw, str):
            return self.text(raw, place, path)
        if is_list(raw):
            return [self.value(each, f"{place}[{index}]", f"{path}[{index}]") for index, each in enumerate(raw)]
        if is_object(raw):
            return self.members(raw, place, path)
        return raw

    def members(self, raw: dict[str, Value], place: str, path: str) -> dict[str, Value]:
        """An object, its `copy` loops unrolled into members."""
        result: dict[str, Value] = {}
        for key, value in raw.items():
            below = member(place, key)
            if key.lower() == "copy" and is_loops(value):
                for index, loop in enumerate(value):
                    name, values = self.loop(loop, f"{below}[{index}]", path)
                    result[name] = values
                continue
            name = self.text(key, below, path) if syntax.is_expression(key) else syntax.literal(key)
            if isinstance(name, str):
                result[name] = self.value(value, below, member(path, name))
        return result

    def made(self, raw: Value, place: str) -> Made:
        """`raw` evaluated. UnresolvedError where it has no value."""
        return self._settled(self.value(raw, place))

    def loop_made(self, loop: dict[str, Value], place: str) -> Made:
        return self._settled(self.loop(loop, place, "")[1])

    def _settled(self, value: Value) -> Made:
        if self.failed or self.unresolved:
            raise UnresolvedError
        return value, bool(self.secrets)

    def loop(self, loop: dict[str, Value], place: str, path: str) -> tuple[str, list[Value]]:
        """A loop over a value: `{name, count, input}`."""
        name = str(loop.get("name", ""))
        return name, self.inputs(loop, place, member(path, name), name.lower(), of_values=True)

    def inputs(self, loop: dict[str, Value], place: str, path: str, name: str = "", *, of_values: bool = False) -> list[Value]:
        return [
            self.value(loop.get("input"), member(place, "input"), f"{path}[{index}]")
            for index in self.rounds(loop, place, name, of_values=of_values)
        ]

    def rounds(self, loop: dict[str, Value], place: str, name: str, *, of_values: bool = False) -> Iterator[int]:
        """Each round of a copy loop, in whose frame this reads then."""
        outer = self.frame
        for index in range(self.count(loop.get("count"), member(place, "count"))):
            if outer.shared.meter.exhausted:
                break
            self.frame = outer.within(Loop(name, index, of_values))
            yield index
        self.frame = outer

    def count(self, raw: Value, place: str) -> int:
        """How often a loop runs; 0 where that can't be known, which is reported."""
        fixed = Reading(self.frame)
        count = fixed.value(raw, place)
        if fixed.failed or fixed.unresolved:
            self.failed = True
            return 0
        if not is_int(count) or not 0 <= count <= MAX_COPIES:
            self.failed = True
            self.frame.shared.refuse(place, f"the count of a copy loop is not a whole number from 0 to {MAX_COPIES}")
            return 0
        return count

    def text(self, raw: str, place: str, path: str) -> Value:
        """A text of the template, evaluated where it is an expression. Of one that has no value the text stays."""
        if not syntax.is_expression(raw):
            return syntax.literal(raw)
        outer, self._secret = self._secret, False
        try:
            value = self.frame.shared.meter.copied(self._node(syntax.parse(raw)))
            if isinstance(value, PartlyKnown):
                raise _not_known(value)
        except RefusedError as error:
            self._refuse(place, path, error, raw)
            return raw
        except UnresolvedError:
            self.failed = True
            self.unresolved[path] = raw
            return raw
        finally:
            secret, self._secret = self._secret, outer
            if secret:
                self.secrets.append(path)
        if isinstance(value, Deferred):
            self.unresolved[path] = raw
            return raw
        return value

    def _refuse(self, place: str, path: str, error: RefusedError, raw: str | None) -> None:
        self.failed = True
        if raw is not None:
            self.unresolved[path] = raw
        self.frame.shared.report(place, error, raw)

    # Expressions

    def _node(self, node: Node) -> Value:
        with self.frame.shared.deeper():
            if isinstance(node, Literal):
                return node.value
            if isinstance(node, Call):
                return self._call(node)
            if isinstance(node, Member):
                return self._member(self._node(node.of), node.name)
            return self._at(self._node(node.of), self._node(node.by))

    def _member(self, value: Value, name: str) -> Value:
        if isinstance(value, Deferred):
            return DEFERRED
        if not is_object(value):
            raise RefusedError(f"the property '{name}' is asked of {kind_of(value)}")
        key = found(value, name)
        if key is not None:
            return value[key]
        if isinstance(value, PartlyKnown) and name.lower() in value.unknown:
            raise unknown(value.unknown[name.lower()])
        there = "" if self._secret else f"; there are {', '.join(list(value)[:20])}" if value else "; the object is empty"
        raise RefusedError(f"there is no property '{name}'{there}")

    def _at(self, value: Value, by: Value) -> Value:
        if isinstance(value, Deferred) or isinstance(by, Deferred):
            return DEFERRED
        if isinstance(by, str):
            return self._member(value, by)
        if not is_list(value) or not is_int(by):
            raise RefusedError(f"{kind_of(by)} in square brackets is asked of {kind_of(value)}")
        if not 0 <= by < len(value):
            raise RefusedError(f"the list has {len(value)} values; there is none at position {by}, counted from 0")
        return value[by]

    def _call(self, call: Call) -> Value:
        name = call.name.lower()
        if name == "if":
            counted("if", len(call.arguments), 3, 3)
            return self._if(call)
        function = _ALL.get(name) or (context_functions.listed(call.name) if name.startswith("list") else None)
        if function is None:
            raise self._not_there(call.name)
        values = [self._node(argument) for argument in call.arguments]
        for value in values:
            if isinstance(value, PartlyKnown):
                raise _not_known(value)
        counted(function.name, len(values), function.least, function.most)
        if any(value is DEFERRED for value in values):
            return DEFERRED
        for value in values if name in _PURE else ():
            self.frame.shared.meter.measured(value)
        result = function.call(Arguments(function.name, values, self))
        if name in _PURE:
            self.frame.shared.meter.measured(result)
        return result

    def _if(self, call: Call) -> Value:
        condition = self._node(call.arguments[0])
        if isinstance(condition, Deferred):
            for argument in call.arguments[1:]:
                self._node(argument)  # for what it refers to
            return DEFERRED
        if not isinstance(condition, bool):
            raise RefusedError(f"the condition of if is {kind_of(condition)}, not true or false")
        return self._node(call.arguments[1 if condition else 2])

    def _not_there(self, name: str) -> RefusedError:
        if name.lower() in self.frame.functions:
            return RefusedError(
                f"'{name}' is a function of the template's own, which is not supported here", "write its expression out"
            )
        if name.lower() in [each.lower() for each in _NOT_READ]:
            return RefusedError(f"the function '{name}' is not supported here")
        near = difflib.get_close_matches(name.lower(), _ALL, n=1, cutoff=0.75)
        return RefusedError(f"there is no function '{name}'", f"is {_ALL[near[0]].name} meant?" if near else "")

    # What the functions of `context_functions` ask for

    def named(self, names: Names, name: str) -> Value:
        """A parameter or a variable."""
        value, secret = names.value(name)
        self._secret = self._secret or secret
        return value

    def ask(self, function: str, resource: str, version: str, full: bool, body: Value) -> Value:
        """What only the running deployment knows."""
        if not self._deferrable:
            raise RefusedError(f"{function} is not allowed here: its answer is known only while the resources are made")
        self.asked.append(resource)
        if self.frame.shared.runtime is None:
            return DEFERRED
        there = self.frame.find(resource)
        resource, own_version = there if there is not None else (resource, "")
        return self.frame.shared.runtime(Ask(function, resource, version or own_version, full, body))


def is_loops(value: Value) -> bool:
    """Whether the value of a member `copy` is a list of loops, and not a property that happens to be called so."""
    return is_list(value) and bool(value) and all(is_object(each) and {"name", "count", "input"} <= each.keys() for each in value)


def condition(entry: dict[str, Value], place: str, frame: Frame, *, text_too: bool = False) -> bool | None:
    """Whether the condition of an entry holds; None where that can't be known, which is reported."""
    if "condition" not in entry:
        return True
    reading, where = Reading(frame), member(place, "condition")
    value = reading.value(entry["condition"], where)
    if reading.failed:
        return None
    if text_too and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        frame.shared.refuse(where, f"the condition is {kind_of(value)}, not true or false")
        return None
    return value


def _not_known(value: PartlyKnown) -> RefusedError:
    return unknown(" and ".join(dict.fromkeys(value.unknown.values())))
