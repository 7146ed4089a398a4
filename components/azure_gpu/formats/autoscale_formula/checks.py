"""Checks the names and types in a formula: variables, functions, methods, and the operands of operators.

Each fault has its offset. What depends on samples is left to the evaluation."""

from collections.abc import Iterable, Sequence

from azure_gpu.catalog import spelling
from azure_gpu.formats.autoscale_formula import functions, language, syntax
from azure_gpu.formats.autoscale_formula.language import Type

MOST_FAULTS = 20  # after this many, the rest of a formula isn't checked
_NUMBERS = (Type.DOUBLE, Type.METRIC, Type.UNKNOWN)
_LISTS = (Type.VECTOR, *_NUMBERS)
_CALLED = {Type.VECTOR: "a list of numbers", Type.DOUBLE: "a number", Type.METRIC: "a number", Type.STRING: "a text"}
_ONE_OF_LIST = "max(…), avg(…) or val(…, 0) makes one number of it"


def faults_of(statements: Sequence[syntax.Statement]) -> list[syntax.Fault]:
    """Everything wrong with the names and types, or the first of very much."""
    checker = _Checker()
    for statement in statements:
        if len(checker.faults) < MOST_FAULTS:
            checker.statement(statement)
    return checker.faults


class _Checker:
    """Goes through a formula as the service does, and keeps the type of every variable that was set so far."""

    def __init__(self) -> None:
        self.faults: list[syntax.Fault] = []
        self._types: dict[str, Type] = {}

    def statement(self, statement: syntax.Statement) -> None:
        given = self._type(statement.value)
        target = statement.target
        if target is None:
            return
        if target.name in language.READ_ONLY:
            self._fault(f"{target.name} can't be set: it is what the service measures", target.at)
        elif target.name in language.TARGETS:
            if given not in _NUMBERS:
                fix = f"; {_ONE_OF_LIST}" if given is Type.VECTOR else ""
                self._fault(f"{target.name} takes a number, and this is {_said(given)}{fix}", target.at)
        elif target.name == language.DEALLOCATION:
            if given not in (Type.OPTION, Type.UNKNOWN):
                self._fault(f"{target.name} takes one of {', '.join(language.OPTIONS)}", target.at)
        elif target.name in (*language.INTERVALS, *language.OPTIONS):
            self._fault(f"{target.name} can't be set: it is a word of the language", target.at)
        elif given is Type.NOTHING:
            self._fault("stop() gives no value that a variable can take", target.at)
        else:
            self._types[target.name] = Type.DOUBLE if given is Type.METRIC else given

    def _fault(self, message: str, at: int) -> Type:
        self.faults.append(syntax.Fault(message, at))
        return Type.UNKNOWN

    def _type(self, node: syntax.Node) -> Type:
        match node:
            case syntax.Number():
                return Type.DOUBLE
            case syntax.Text():
                return Type.STRING
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
                return self._method(node)
            case syntax.Member():
                return self._member(node)

    def _name(self, node: syntax.Name) -> Type:
        name = node.name
        if name in self._types:
            return self._types[name]
        if name in language.READ_ONLY:
            return Type.METRIC
        if name in language.TARGETS:
            return Type.DOUBLE
        if name in (language.DEALLOCATION, *language.OPTIONS):
            return Type.OPTION
        if name in language.INTERVALS:
            return Type.INTERVAL
        known = (*language.READ_ONLY, *language.WRITABLE, *language.INTERVALS, *language.OPTIONS, *self._types)
        meant = _meant(name, known)
        if name in functions.FUNCTIONS:
            return self._fault(f"{name} is a function: write {name}(…)", node.at)
        if name.startswith("$"):
            return self._fault(f"{name} isn't a variable of Batch, and nothing sets it before{meant}", node.at)
        return self._fault(f"nothing set {name} before{meant}", node.at)

    def _sign(self, node: syntax.Sign) -> Type:
        given = self._number_of_metric(self._type(node.operand))
        if given in (*language.NEGATED[node.sign], Type.UNKNOWN):
            return given
        return self._fault(f"{node.sign} takes no {given}", node.at)

    def _chain(self, node: syntax.Chain) -> Type:
        left = self._number_of_metric(self._type(node.first))
        for link in node.links:
            right = self._number_of_metric(self._type(link.operand))
            left = self._operator(left, link.sign, right, link.at)
        return left

    def _operator(self, left: Type, sign: str, right: Type, at: int) -> Type:
        if sign in language.COMPARISONS:
            fits = left is right and left in language.COMPARED
            result = Type.DOUBLE
        elif sign in language.LOGICAL:
            fits = left is right is Type.DOUBLE
            result = Type.DOUBLE
        else:
            operator = functions.ARITHMETIC.get((left, sign, right))
            fits, result = operator is not None, operator.gives if operator else Type.UNKNOWN
        if fits or Type.UNKNOWN in (left, right):
            return result
        fix = ""
        if Type.VECTOR in (left, right) and (sign in language.COMPARISONS or sign in language.LOGICAL):
            fix = f"; {_ONE_OF_LIST}"
        elif (left, sign, right) == (Type.TIMESTAMP, "-", Type.INTERVAL):
            fix = "; add the interval times -1"
        elif (left, right) == (Type.DOUBLE, Type.VECTOR):
            fix = "; the list has to stand first"
        return self._fault(f"{left} {sign} {right} isn't an operation of a formula{fix}", at)

    def _choice(self, node: syntax.Choice) -> Type:
        condition = self._number_of_metric(self._type(node.condition))
        if condition not in _NUMBERS:
            self._fault(f"the condition in front of ? is a number, and this is {_said(condition)}", node.at)
        yes, no = self._number_of_metric(self._type(node.yes)), self._number_of_metric(self._type(node.no))
        return yes if yes is no else Type.UNKNOWN

    def _call(self, node: syntax.Call) -> Type:
        given = [self._type(argument) for argument in node.arguments]
        if node.name in (*functions.OF_LISTS, language.VECTOR_OF):
            self._each(node.name, node.arguments, given, _LISTS)
            return Type.VECTOR if node.name == language.VECTOR_OF else Type.DOUBLE
        if node.name in functions.COMPONENT_WISE:
            if not given:
                return self._fault(f"{node.name}(…) needs a number or a list of numbers", node.at)
            self._each(node.name, node.arguments, given, _LISTS)
            return Type.DOUBLE if len(given) == 1 and given[0] in _NUMBERS else Type.VECTOR
        signature = functions.FIXED.get(node.name)
        if signature is None:
            return self._fault(f"{node.name} isn't a function of a formula{_meant(node.name, functions.FUNCTIONS)}", node.at)
        if not signature.needed <= len(given) <= len(signature.parameters):
            wanted = ", ".join(signature.parameters) or "nothing"
            return self._fault(f"{node.name}(…) takes {wanted}, and {len(given)} values are given", node.at)
        for argument, one, wanted in zip(node.arguments, given, signature.parameters, strict=False):
            if one is not wanted and not (wanted is Type.DOUBLE and one in _NUMBERS) and one is not Type.UNKNOWN:
                self._fault(f"{node.name}(…) takes {_said(wanted)} here, and this is {_said(one)}", argument.at)
        return signature.gives

    def _each(self, name: str, arguments: Iterable[syntax.Node], given: Iterable[Type], wanted: tuple[Type, ...]) -> None:
        for argument, one in zip(arguments, given, strict=True):
            if one not in wanted:
                self._fault(f"{name}(…) takes numbers and lists of numbers, and this is {_said(one)}", argument.at)

    def _method(self, node: syntax.Method) -> Type:
        of = self._type(node.of)
        given = [self._number_of_metric(self._type(argument)) for argument in node.arguments]
        method = functions.METHODS.get(node.name)
        if method is None:
            return self._fault(f"{node.name} isn't a method of a variable{_meant(node.name, functions.METHODS)}", node.at)
        if of is not Type.METRIC:
            if of is not Type.UNKNOWN:
                self._fault(f"only variables that the service measures have {node.name}(…)", node.at)
            return method.gives
        if not any(functions.match(given, one) for one in method.takes):
            forms = " or ".join(f"({', '.join(_words(one))})" for one in method.takes)
            self._fault(f"{node.name} takes {forms}", node.at)
        return method.gives

    def _member(self, node: syntax.Member) -> Type:
        of = self._type(node.of)
        if of is Type.METRIC and node.name in functions.METHODS:
            self._fault(f"{node.name} is a method: write {node.name}(…)", node.at)
        elif node.name not in language.TIMESTAMP_MEMBERS:
            meant = _meant(node.name, language.TIMESTAMP_MEMBERS)
            self._fault(f"{node.name} isn't a part of a timestamp{meant}", node.at)
        elif of not in (Type.TIMESTAMP, Type.UNKNOWN):
            self._fault(f"only a timestamp has {node.name}, and this is {_said(of)}", node.at)
        return Type.DOUBLE

    def _number_of_metric(self, given: Type) -> Type:
        return Type.DOUBLE if given is Type.METRIC else given


def _words(wanted: Iterable[tuple[Type, ...]]) -> list[str]:
    return ["number" if one == (Type.DOUBLE,) else "time" for one in wanted]


def _said(given: Type) -> str:
    return _CALLED.get(given, f"a {given}" if given is not Type.INTERVAL else "a time interval")


def _meant(name: str, known: Iterable[str]) -> str:
    """The nearest of the known names, as the end of a message."""
    by_lower = {one.lower(): one for one in known}
    nearest = spelling.nearest(name.lower(), by_lower, 1)
    return f"; {by_lower[nearest[0]]} is meant?" if nearest else ""
