"""The base class of the components: the forms of their constructors, the refusal, and the outputs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Generic, TypeAlias, TypeVar, cast, get_args, get_origin

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.shared import prerequisites
from azure_gpu.shared.context import Context, resolve_stack
from azure_gpu.shared.look_up import AskedBy
from azure_gpu.shared.program import Described, describe
from azure_gpu.shared.validation import key_docstrings
from azure_gpu.shared.wired import Wired

Args = TypeVar("Args")
Wiring = TypeVar("Wiring")
Spec = TypeVar("Spec")
_T = TypeVar("_T")

OnlyInPython: TypeAlias = Annotated[_T, "not an output"]
"""The type of an attribute that isn't an output, and so isn't registered."""
_OF_SPEC = ("expires_at", "hourly_cost", "idle_cost")  # outputs


class _Documented(type):
    """Makes `help(BatchPool)` show the keys of the arguments with their meanings, units and defaults. Read when it is asked for:
    the docstrings of keys are in the source."""

    @property
    def __doc__(cls) -> str:  # pyrefly: ignore[bad-override] - what `help` reads
        own = inspect.cleandoc(vars(cls).get("__doc__") or "")
        args_type = getattr(cls, "args_type", None)
        if args_type is None:
            return own
        required: frozenset[str] = args_type.__required_keys__
        keys = [
            f"{key}{' (required)' if key in required else ''}\n    " + text.replace("\n", "\n    ")
            for key, text in sorted(key_docstrings(args_type).items(), key=lambda each: each[0] not in required)
        ]
        return "\n\n".join([own, f"Arguments, as keywords or as one {args_type.__name__}:", *keys])


class Component(pulumi.ComponentResource, Generic[Args, Wiring, Spec], metaclass=_Documented):
    """A component. `Args`: the arguments in a program; `Wiring`: those with its dependencies; `Spec`: the resolved ones.

    A class annotates its outputs, and names its arguments as one object and as keywords in its overloads, which type checkers
    read. In the order in which they run: `_wire` and `_resolve` check the arguments, `_look_up` reads Azure, `_declare` declares
    the resources and sets the outputs. A stack file's component begins with `_declare`, as its plan has done the rest.
    """

    args_type: ClassVar[Any]
    """The TypedDict of the arguments in a program."""
    _kind: ClassVar[type[Component[Any, Any, Any]]]  # of the library; a program may derive others from it
    _outputs: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for base in vars(cls).get("__orig_bases__", ()):
            if get_origin(base) is Component:
                cls._kind, cls.args_type = cls, get_args(base)[0]
                cls._outputs = tuple(key for key, text in cls.__annotations__.items() if not text.startswith("OnlyInPython["))

    def __init__(
        self,
        name: str,
        args: Args | Wired[Wiring, Spec] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **kw: Any,
    ) -> None:
        """`args`, or its keys as keywords. All problems are raised as one `Refused`, before anything is declared."""
        self._name = name
        wired = args if isinstance(args, Wired) else self._wired(_together(args, kw), opts)
        spec = wired.spec or self._resolved(wired)
        super().__init__(f"azuregpu:index:{self._kind.__name__}", name, None, opts)
        self._name = name  # Pulumi's constructor sets an attribute of this name, to the name that it is given
        self._args = wired.args
        self._asked_by = wired.asked_by
        self._in_program = bool(wired.component)
        self._child = pulumi.ResourceOptions(parent=self)
        self._declare(spec)
        own = cast(Any, spec[0] if isinstance(spec, tuple) else spec)
        for key in _OF_SPEC:  # those of the spec, unless the component has set them
            if key in self._outputs and key not in vars(self):
                value = getattr(own, key)
                setattr(self, key, pulumi.Output.from_input(value) if value is not None else None)
        self.register_outputs({key: getattr(self, key) for key in self._outputs})

    def _wired(self, given: object, opts: pulumi.ResourceOptions | None) -> Wired[Wiring, Spec]:
        """Checks the arguments of a component in a program."""
        return self._wire(describe(self._kind, self._name, self.args_type, given, opts))

    def _resolved(self, wired: Wired[Wiring, Spec]) -> Spec:
        """Resolves the arguments. Raises `Refused` with all problems."""
        stack = cast(Mapping[str, Any], wired.args)["stack"]
        context, of_stack = resolve_stack(stack, pulumi.get_project(), pulumi.get_stack())
        spec, problems = self._resolve(wired.args, context)
        if wired.component:
            problems = prerequisites.of_program(problems, cast(Mapping[str, Any], wired.args), context, wired.asked_by)
        wired.refuse([*of_stack, *problems])
        spec, problems = self._look_up(spec, wired.asked_by)
        wired.refuse(problems)
        return spec

    @staticmethod
    def _wire(described: Described) -> Wired[Wiring, Spec]:
        """Adds the dependencies of a component in a program."""
        raise NotImplementedError

    def _resolve(self, args: Wiring, context: Context) -> tuple[Spec, list[Problem]]:
        """Resolves the arguments, with their problems. Pure."""
        raise NotImplementedError

    def _look_up(self, spec: Spec, asked_by: AskedBy) -> tuple[Spec, list[Problem]]:  # noqa: ARG002  for those with look-ups
        """Adds what is looked up in Azure, with its problems."""
        return spec, []

    def _declare(self, spec: Spec) -> None:
        """Declares the resources and sets the outputs."""
        raise NotImplementedError


def _together(args: object, keywords: Mapping[str, Any]) -> object:
    """Merges the arguments of a constructor, given as one object, as keywords, or both; keywords take precedence."""
    if args is None:
        return dict(keywords)
    return {**cast(Mapping[str, Any], args), **keywords} if isinstance(args, Mapping) else args
