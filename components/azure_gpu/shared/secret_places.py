"""Where a value stays secret: at keys for secrets, which the state keeps encrypted and Azure hides; everything else is readable.

Reads arguments by their annotations: `pulumi.Input` keeps secrets, `OpenInput` and plain values don't.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast, is_typeddict

import pulumi
from pulumi.runtime.sync_await import _sync_await  # what its blocking calls use

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import likely_secrets
from azure_gpu.formats.stack_file import Steps
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.validation import OUTPUT, below, form, is_map, key_hints, may_be_secret

FOR_SECRETS = "secret_environment"


class Leaf(NamedTuple):
    """A text, or an output, in arguments."""

    steps: Steps
    value: Any
    is_kept: bool  # stays encrypted in the state and hidden in Azure
    is_named: bool  # has a user-defined name, such as an environment variable
    is_any: bool  # any value is passed on as it is, such as below `overrides`

    @property
    def name(self) -> str:
        return str(self.steps[-1])

    @property
    def looks_secret(self) -> bool:
        """Whether a text looks like a secret, by its user-defined name, by a key for secrets, or by its form."""
        by_name = (self.is_named or self.is_kept) and likely_secrets.is_secret_name(self.name)
        return by_name or likely_secrets.holds_secret(self.value)


def leaves(value: object, annotation: Any, steps: Steps, *, is_named: bool = False) -> Iterator[Leaf]:
    """Yields every text and every output below a value."""
    if isinstance(value, (str, *OUTPUT)):
        yield Leaf(steps, value, may_be_secret(annotation), is_named, form(annotation) is Any)
    elif isinstance(value, Mapping):
        in_map = is_map(annotation)
        for key, inner in cast(Mapping[object, object], value).items():
            yield from leaves(inner, below(annotation, str(key)), (*steps, str(key)), is_named=in_map)
    elif isinstance(value, list):
        for index, inner in enumerate(cast(list[object], value)):
            yield from leaves(inner, below(annotation, index), (*steps, index))


def nearest(steps: Steps, annotation: Any) -> Steps | None:
    """Returns the innermost object around a value that has a key for secrets; None without one."""
    found: Steps | None = None
    for at, step in enumerate(steps):
        inner = form(annotation)
        if is_typeddict(inner) and FOR_SECRETS in key_hints(inner):
            found = steps[:at]
        annotation = below(annotation, step)
    return found


def path(steps: Steps) -> str:
    """Formats steps: `jobs.train.environment.TOKEN`."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


@dataclass(frozen=True, slots=True)
class OfProgram:
    """The arguments of a component in a program. `where`: its path."""

    where: str
    annotation: Any

    def placed(self, args: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
        """Returns the arguments, and a problem for each secret output at a plain key; a warning for a text that looks secret.
        Where an output waits for a resource, it is known later whether it is secret: the program is then refused at its use."""
        plain = [each for each in leaves(args, self.annotation, ()) if not each.is_kept]
        problems = [
            self._problem(each, "this looks like a secret", Severity.WARNING)
            for each in plain
            if isinstance(each.value, str) and each.looks_secret
        ]
        of_outputs = [each for each in plain if isinstance(each.value, pulumi.Output) and not each.is_any]
        guarded: dict[Steps, pulumi.Output[Any]] = {}
        for each, asked in zip(of_outputs, _asked([each.value for each in of_outputs]), strict=True):
            problem = self._problem(each, "this output is secret", Severity.ERROR)
            if not asked.done():
                guarded[each.steps] = _guarded(each.value, asked, problem, self.where)
            elif asked.exception() is None and asked.result():
                problems.append(problem)
        return cast(dict[str, Any], put(args, guarded, ())), problems

    def _problem(self, leaf: Leaf, what: str, severity: Severity) -> Problem:
        around = nearest(leaf.steps, self.annotation)
        place = path((self.where, *(*around, FOR_SECRETS))) if around is not None else ""
        unless = " unless it isn't one: then pulumi.Output.unsecret(…)" if severity is Severity.ERROR else ""
        name = f" as {leaf.name}" if leaf.is_named else ""
        return refused(
            "secret.plain_key",
            path((self.where, *leaf.steps)),
            what=what,
            allowed=f"a secret in {place}" if place else "a value that isn't secret; Azure has no secret place for it",
            fix=f"move it to {place}{name}{unless}" if place else f"read it from a key vault at run time{unless}",
            severity=severity,
        )


_STEPS = 20  # of the event loop, in which outputs settle that wait for no resource, such as those of the configuration


def _asked(outputs: Sequence[pulumi.Output[Any]]) -> Sequence["asyncio.Future[bool]"]:
    """Returns for each output whether it is secret: done where that is known without a resource."""
    asked = [asyncio.ensure_future(each.is_secret()) for each in outputs]
    for _ in range(_STEPS):
        if all(each.done() for each in asked):
            break
        _sync_await(asyncio.sleep(0))
    return asked


def _guarded(output: pulumi.Output[Any], asked: "asyncio.Future[bool]", problem: Problem, where: str) -> pulumi.Output[Any]:
    async def resources() -> set[pulumi.Resource]:
        if await asked:
            raise Refused([problem], where)
        return await output.resources()

    rest = [asyncio.ensure_future(each) for each in (output.future(with_unknowns=True), output.is_known())]
    return pulumi.Output(resources(), cast("asyncio.Future[Any]", rest[0]), cast("asyncio.Future[bool]", rest[1]), asked)


def put(value: Any, found: Mapping[Steps, Any], at: Steps) -> Any:
    """Returns the value at these steps with those of `found` at their steps; nothing else is copied."""
    if at in found:
        return found[at]
    if not any(steps[: len(at)] == at for steps in found):
        return dict(value) if not at else value
    if isinstance(value, Mapping):
        return {key: put(each, found, (*at, str(key))) for key, each in cast(Mapping[Any, Any], value).items()}
    return [put(each, found, (*at, index)) for index, each in enumerate(cast(list[Any], value))]
