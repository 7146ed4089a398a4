"""Goes through a formula as the service does, with the type of everything in place of its value.

Each fault has its offset. What depends on samples is left to the evaluation, which goes the same way with values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from azure_gpu.catalog import spelling
from azure_gpu.formats.autoscale_formula import functions, language, syntax
from azure_gpu.formats.autoscale_formula.functions import FunctionError
from azure_gpu.formats.autoscale_formula.language import Type, Value, type_of

MOST_FAULTS = 20  # after this many, the rest of a formula isn't checked
_MOST_NUMBERS = 2_000_000  # in all lists that one run makes: a week of samples, which are 20,160, a hundred times
_NUMBER = (Type.DOUBLE, Type.UNKNOWN)
_CALLED = {Type.VECTOR: "a list of numbers", Type.DOUBLE: "a number", Type.STRING: "a text", Type.INTERVAL: "a time interval"}
_IN_FORMS: Mapping[tuple[Type, ...], str] = {functions.NUMBER: "number", functions.WHEN: "time"}
_ONE_OF_LIST = "; max(…), avg(…) or val(…, 0) makes one number of it"


def faults_of(statements: Sequence[syntax.Statement]) -> list[syntax.FaultError]:
    """Everything wrong with the names and types, or the first of very much."""
    checks = Walk()
    for statement in statements:
        if len(checks.faults) < MOST_FAULTS:
            checks.statement(statement)
    return checks.faults


class Walk:
    """Keeps what every variable was set to so far. A value is its type here; the evaluation derives a class with real ones."""

    now = datetime(1, 1, 1, tzinfo=UTC)

    def __init__(self) -> None:
        self.faults: list[syntax.FaultError] = []
        self.own: dict[str, Value | Type] = {}  # the formula's own variables
        self.targets: dict[str, Value | Type] = {}  # the service's variables
        self._numbers_made = 0

    # What the evaluation does otherwise

    def fault(self, message: str, at: int) -> Any:
        self.faults.append(syntax.FaultError(message, at))
        return Type.UNKNOWN

    def result(self, gives: Type, _: Callable[..., Value], /, *__: Any) -> Any:
        return gives

    def known(self, node: syntax.Name) -> Any:
        """What a word of the language, or a variable of the service, stands for."""
        return language.KNOWN[node.name]

    def samples(self, _: syntax.Name, /) -> functions.Series:
        return ()

    # Statements and expressions

    def statement(self, statement: syntax.Statement) -> None:
        given, target = self.value(statement.value), statement.target
        if target is None:
            return
        name, kind = target.name, type_of(given)
        if name in language.READ_ONLY:
            self.fault(f"{name} can't be set: it is what the service measures", target.at)
        elif name in language.TARGETS and kind not in _NUMBER:
            fix = _ONE_OF_LIST if kind is Type.VECTOR else ""
            self.fault(f"{name} takes a number, and this is {_said(kind)}{fix}", target.at)
        elif name == language.DEALLOCATION and kind not in (Type.OPTION, Type.UNKNOWN):
            self.fault(f"{name} takes one of {', '.join(language.OPTIONS)}", target.at)
        elif name in (*language.INTERVALS, *language.OPTIONS):
            self.fault(f"{name} can't be set: it is a word of the language", target.at)
        elif kind is Type.NOTHING:
            self.fault("stop() gives no value that a variable can take", target.at)
        else:
            (self.targets if name in language.WRITABLE else self.own)[name] = given

    def value(self, node: syntax.Node) -> Any:
        try:
            value = self._of(node)
            self._made((value,))
        except FunctionError as error:
            return self.fault(str(error), node.at)
        except OverflowError:
            return self.fault("a number is too large", node.at)
        return value

    def _made(self, values: Iterable[Any]) -> None:
        """Called before or after a list is made, so that a formula of a few lines takes neither all memory nor all day."""
        self._numbers_made += sum(len(value) for value in values if isinstance(value, tuple))
        if self._numbers_made > _MOST_NUMBERS:
            raise FunctionError(f"the formula makes lists of more than {_MOST_NUMBERS} numbers in all")

    def _of(self, node: syntax.Node) -> Any:
        match node:
            case syntax.Literal():
                return self.result(type_of(node.value), lambda: node.value)
            case syntax.Name():
                return self._name(node)
            case syntax.Sign():
                return self._sign(node)
            case syntax.Chain():
                return self._chain(node)
            case syntax.Choice():
                return self._choice(node)
            case syntax.Call():
                return self._call(node)
            case syntax.Method():
                return self._member(node) if node.arguments is None else self._method(node, node.arguments)

    def _name(self, node: syntax.Name) -> Any:
        name = node.name
        if name in self.own:
            return self.own[name]
        if name in language.KNOWN:
            return self.known(node)
        if name in functions.FUNCTIONS:
            return self.fault(f"{name} is a function: write {name}(…)", node.at)
        meant = _meant(name, (*language.KNOWN, *self.own))
        if name.startswith("$"):
            return self.fault(f"{name} isn't a variable of Batch, and nothing sets it before{meant}", node.at)
        return self.fault(f"nothing set {name} before{meant}", node.at)

    def _sign(self, node: syntax.Sign) -> Any:
        given = self.value(node.operand)
        kind = type_of(given)
        signed = functions.SIGNED.get((node.sign, kind))
        if signed is not None:
            return self.result(kind, signed, given)
        return kind if kind is Type.UNKNOWN else self.fault(f"{node.sign} takes no {kind}", node.at)

    def _chain(self, node: syntax.Chain) -> Any:
        left = self.value(node.first)
        for link in node.links:
            if link.sign in functions.LOGICAL and isinstance(left, float) and bool(left) is (link.sign == "||"):
                left = float(bool(left))  # what follows isn't looked at
                continue
            right = self.value(link.operand)
            try:
                self._made((left,))
                left = self._operator(left, link, right)
            except FunctionError as error:
                left = self.fault(str(error), link.at)
        return left

    def _operator(self, left: Any, link: syntax.Link, right: Any) -> Any:
        one, sign, other = types = type_of(left), link.sign, type_of(right)
        operator = functions.OPERATORS.get(types)
        if operator is not None:
            return self.result(operator.gives, operator.apply, left, sign, right)
        if Type.UNKNOWN not in types:
            fix = ""
            if Type.VECTOR in types and sign not in functions.ARITHMETIC:
                fix = _ONE_OF_LIST
            elif types == (Type.TIMESTAMP, "-", Type.INTERVAL):
                fix = "; add the interval times -1"
            elif (one, other) == (Type.DOUBLE, Type.VECTOR):
                fix = "; the list has to stand first"
            return self.fault(f"{one} {sign} {other} isn't an operation of a formula{fix}", link.at)
        return Type.UNKNOWN if sign in functions.ARITHMETIC else Type.DOUBLE

    def _choice(self, node: syntax.Choice) -> Any:
        condition = self.value(node.condition)
        if type_of(condition) not in _NUMBER:
            kind = _said(type_of(condition))
            self.fault(f"the condition in front of ? is a number, and this is {kind}", node.at)
        if isinstance(condition, float):
            return self.value(node.yes if condition else node.no)
        yes, no = self.value(node.yes), self.value(node.no)
        return yes if yes is no else Type.UNKNOWN

    def _call(self, node: syntax.Call) -> Any:
        name, given = node.name, [self.value(argument) for argument in node.arguments]
        types = [type_of(one) for one in given]
        if name in functions.OF_NUMBERS:
            return self._of_numbers(node, given, types)
        function = functions.FIXED.get(name)
        if function is None:
            return self.fault(f"{name} isn't a function of a formula{_meant(name, functions.FUNCTIONS)}", node.at)
        if not function.needed <= len(given) <= len(function.parameters):
            wanted = ", ".join(function.parameters) or "nothing"
            return self.fault(f"{name}(…) takes {wanted}, and {len(given)} values are given", node.at)
        for argument, kind, wanted in zip(node.arguments, types, function.parameters, strict=False):
            if kind not in (wanted, Type.UNKNOWN):
                self.fault(f"{name}(…) takes {_said(wanted)} here, and this is {_said(kind)}", argument.at)
        return self.result(function.gives, function.call, self.now, *given)

    def _of_numbers(self, node: syntax.Call, given: list[Any], types: list[Type]) -> Any:
        name = node.name
        if name in functions.COMPONENT_WISE and not given:
            return self.fault(f"{name}(…) needs a number or a list of numbers", node.at)
        for argument, kind in zip(node.arguments, types, strict=True):
            if kind not in (Type.VECTOR, *_NUMBER):
                self.fault(f"{name}(…) takes numbers and lists of numbers, and this is {_said(kind)}", argument.at)
        self._made(given)
        one_number = name in functions.COMPONENT_WISE and len(types) == 1 and types[0] in _NUMBER
        gives = Type.DOUBLE if one_number or name in functions.OF_LISTS else Type.VECTOR
        return self.result(gives, functions.of_numbers, name, *given)

    def _method(self, node: syntax.Method, arguments: Sequence[syntax.Node]) -> Any:
        measured = isinstance(node.of, syntax.Name) and node.of.name in language.READ_ONLY
        of = Type.UNKNOWN if measured else type_of(self.value(node.of))
        given = [self.value(argument) for argument in arguments]
        method = functions.METHODS.get(node.name)
        if method is None:
            return self.fault(f"{node.name} isn't a method of a variable{_meant(node.name, functions.METHODS)}", node.at)
        if not isinstance(node.of, syntax.Name) or not measured:
            if of is not Type.UNKNOWN:
                self.fault(f"only variables that the service measures have {node.name}(…)", node.at)
            return method.gives
        if not any(functions.match([type_of(one) for one in given], form) for form in method.takes):
            words = [", ".join(_IN_FORMS[one] for one in form) for form in method.takes]
            self.fault(f"{node.name} takes {' or '.join(f'({each})' for each in words)}", node.at)
        return self.result(method.gives, method.call, self.samples(node.of), self.now, *given)

    def _member(self, node: syntax.Method) -> Any:
        name = node.name
        if isinstance(node.of, syntax.Name) and node.of.name in language.READ_ONLY and name in functions.METHODS:
            return self.fault(f"{name} is a method: write {name}(…)", node.at)
        of = self.value(node.of)
        if name not in language.TIMESTAMP_MEMBERS:
            self.fault(f"{name} isn't a part of a timestamp{_meant(name, language.TIMESTAMP_MEMBERS)}", node.at)
        elif type_of(of) not in (Type.TIMESTAMP, Type.UNKNOWN):
            self.fault(f"only a timestamp has {name}, and this is {_said(type_of(of))}", node.at)
        return self.result(Type.DOUBLE, functions.member, name, of)


def _said(given: Type) -> str:
    return _CALLED.get(given, f"a {given}")


def _meant(name: str, known: Iterable[str]) -> str:
    """The nearest of the known names, as the end of a message."""
    by_lower = {one.lower(): one for one in known}
    nearest = spelling.nearest(name.lower(), by_lower, 1)
    return f"; {by_lower[nearest[0]]} is meant?" if nearest else ""
