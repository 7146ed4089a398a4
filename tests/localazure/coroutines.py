"""Tests that are coroutines: each runs in an event loop of its own, with what its module makes for it."""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec

P = ParamSpec("P")


def in_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Decorates a test that is a coroutine."""

    @functools.wraps(test)
    def whole(*fixtures: P.args, **others: P.kwargs) -> None:
        asyncio.run(test(*fixtures, **others))

    return whole


def within(
    run: Callable[..., None], fixture: str = ""
) -> Callable[[Callable[Concatenate[Any, P], Coroutine[Any, Any, None]]], Callable[P, None]]:
    """A decorator of tests that are coroutines, whose first parameter `run` makes; of a fixture such as the folder `tmp_path`,
    where it needs one."""

    def decorated(test: Callable[Concatenate[Any, P], Coroutine[Any, Any, None]]) -> Callable[P, None]:
        _, *own = inspect.signature(test).parameters.values()
        names = {each.name for each in own}

        def whole(**fixtures: Any) -> None:
            of_test: Any = functools.partial(test, **{name: value for name, value in fixtures.items() if name in names})
            run(*([fixtures[fixture]] if fixture else []), of_test)

        functools.update_wrapper(whole, test)
        more = [] if fixture in {"", *names} else [inspect.Parameter(fixture, inspect.Parameter.KEYWORD_ONLY)]
        # pyrefly: ignore[missing-attribute]
        whole.__signature__ = inspect.Signature([*own, *more])
        # pyrefly: ignore[bad-return]
        return whole

    return decorated
