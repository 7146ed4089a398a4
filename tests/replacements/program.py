"""Many stack files as one program: each is declared by the project's own program, its resources told apart by a prefix.

The engine runs this in place of the checkout's `__main__.py`. VARIANTS is a file with the name of the stack and the
configuration of each variant by its prefix, such as `v012`. What a variant is refused for is written to REFUSED, a line of JSON
each: the others go on. A hook that refuses a plan refuses its variant alone.
"""

import contextlib
import datetime
import json
import os
import runpy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pulumi
from pulumi.resource import Resource

SEPARATOR = "."


class OfVariant:
    """The variant that is being declared."""

    prefix = ""


def refused(prefix: str, why: str) -> None:
    """Writes down why a variant isn't declared."""
    with Path(os.environ["REFUSED"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"variant": prefix, "why": why}) + "\n")


_init = Resource.__init__


def _prefixed(self: Resource, t: str, name: str, *args: Any, **options: Any) -> None:
    _init(self, t, f"{OfVariant.prefix}{SEPARATOR}{name}" if name and OfVariant.prefix else name, *args, **options)


def hook_of(kind: Any, judged_by: Any) -> Any:
    """A hook whose name is the variant's own, and whose refusal of a plan is written down."""

    class Hook(kind):
        def __init__(self, name: str, callback: Any, opts: Any = None) -> None:
            prefix = OfVariant.prefix

            async def judges(args: Any) -> None:
                try:
                    done = callback(args)
                    if hasattr(done, "__await__"):
                        await done
                except Exception as error:  # noqa: BLE001  whatever a hook says no with
                    refused(prefix, str(error))

            is_of_plans = judged_by(opts)
            super().__init__(f"{prefix}{SEPARATOR}{name}", judges if is_of_plans else _nothing, opts)

    return Hook


def _nothing(*_: Any) -> None:
    pass


def error_hook_of(kind: Any) -> Any:
    """A hook for errors whose name is the variant's own."""

    class Hook(kind):
        def __init__(self, name: str, callback: Any, *args: Any) -> None:
            super().__init__(f"{OfVariant.prefix}{SEPARATOR}{name}", callback, *args)

    return Hook


def own_outputs(every: Mapping[str, Any]) -> dict[str, Any]:
    """The exports of the variant, out of those of all of them."""
    own = f"{OfVariant.prefix}{SEPARATOR}"
    return {key.removeprefix(own): value for key, value in every.items() if key.startswith(own)}


def own_resources(every: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The variant's resources by the URNs that its own stack would have; None where the state can't be read."""
    own = f"::{OfVariant.prefix}{SEPARATOR}"
    found = {urn.replace(own, "::"): each for urn, each in (every or {}).items() if own in urn}
    return found or ({} if every is not None else None)


@contextlib.contextmanager
def declared_as(prefix: str, stack: str) -> Iterator[None]:
    """Has whatever is declared carry the prefix, and see of the state what carries it. `stack`: the stack that it takes itself
    to be in."""
    from azure_gpu.aks import cluster
    from azure_gpu.shared import own_state

    every_output, every_resource, export, engine_s = own_state.outputs, own_state.resources, pulumi.export, pulumi.get_stack()

    def name() -> str:
        return f"organization/{pulumi.get_project()}/{engine_s}"

    def outputs() -> dict[str, Any]:
        return own_outputs(every_output() or {})

    def resources(*, of_stack_file: bool) -> Mapping[str, Any] | None:
        with mock.patch.object(own_state, "outputs", every_output):
            return own_resources(every_resource(of_stack_file=of_stack_file))

    def export_own(key: str, value: Any) -> None:
        export(f"{prefix}{SEPARATOR}{key}", value)

    OfVariant.prefix = prefix
    with contextlib.ExitStack() as patched:
        for patch in (
            mock.patch.object(cluster, "_credentials", {}),  # those that a stack has declared so far
            mock.patch.object(own_state, "_stack", name),
            mock.patch.object(own_state, "outputs", outputs),
            mock.patch.object(own_state, "resources", resources),
            mock.patch.object(pulumi, "export", export_own),
            mock.patch.object(pulumi, "get_stack", return_value=stack),
        ):
            patched.enter_context(patch)
        yield
    OfVariant.prefix = ""


def main() -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "azure_gpu"]:
        del sys.modules[name]  # a warm Python has loaded them, with what is replaced below
    checkout = Path(os.environ["CHECKOUT"])
    for folder in (checkout, checkout / "components"):
        sys.path.insert(0, str(folder))
    from azure_gpu.formats import build_context
    from azure_gpu.kubernetes import api_server
    from tests.upgrades.program import DayOfTheCases, answers, tag_of

    build_context.context_hash = tag_of
    api_server.answer_problem = answers
    pulumi.ResourceHook = hook_of(pulumi.ResourceHook, lambda opts: opts is not None and bool(opts.on_dry_run))
    pulumi.ErrorHook = error_hook_of(pulumi.ErrorHook)
    pulumi.log.debug = _nothing  # a call to the engine for each resource
    Resource.__init__ = _prefixed
    variants = json.loads(Path(os.environ["VARIANTS"]).read_text(encoding="utf-8"))
    with mock.patch.object(datetime, "datetime", DayOfTheCases), contextlib.chdir(checkout):
        for prefix, (stack, config) in variants.items():
            pulumi.runtime.set_all_config(config)
            with declared_as(prefix, stack):
                try:
                    runpy.run_path(str(checkout / "__main__.py"), run_name="__main__")
                except Exception as error:  # noqa: BLE001  whatever a program ends with
                    refused(prefix, f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
