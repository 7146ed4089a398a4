"""Look-ups that fail."""

import asyncio
from collections.abc import Awaitable
from typing import Any, cast

import pulumi
import pytest

from azure_gpu.shared.look_up import answered, told

FAILED = 'invoke of azure-native:containerservice:getManagedCluster failed: Status=409 Code="Conflict" Message="in use"'


def test_a_look_up_that_fails_ends_the_program_by_one_line() -> None:
    async def ended() -> str:
        answer: asyncio.Future[Any] = asyncio.Future()
        answer.set_exception(Exception(FAILED))
        found = told(pulumi.Output(set(), answer, cast(Awaitable[bool], asyncio.Future())))
        with pytest.raises(pulumi.RunError) as error:
            await found.apply(lambda each: each.location).future()
        return str(error.value)

    assert asyncio.run(ended()) == FAILED


def test_so_does_one_that_the_program_waits_for() -> None:
    def fails() -> str:
        raise Exception(FAILED)

    with pytest.raises(pulumi.RunError) as error:
        answered(fails)
    assert str(error.value) == FAILED
    assert answered(lambda: "eastus") == "eastus"


@pytest.mark.parametrize(("is_known", "is_secret"), [(True, False), (True, True), (False, False)])
def test_a_look_up_that_is_answered_stays_as_it_is(is_known: bool, is_secret: bool) -> None:
    async def answered() -> tuple[Any, bool, bool]:
        def of(value: Any) -> asyncio.Future[Any]:
            future: asyncio.Future[Any] = asyncio.Future()
            future.set_result(value)
            return future

        found = told(pulumi.Output(set(), of("eastus"), of(is_known), of(is_secret)))
        return await found.future(), await found.is_known(), await found.is_secret()

    assert asyncio.run(answered()) == ("eastus", is_known, is_secret)
