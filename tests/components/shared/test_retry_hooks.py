"""What passes by itself is tried again for as long as Azure takes, and nothing else is."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest

from azure_gpu.catalog import transient_errors
from azure_gpu.catalog.transient_errors import find, known, pause
from azure_gpu.shared import retry_hooks
from tests.components.recording import declare
from tests.support.tables import of_table

NO_PULL = (
    "Code=\"InaccessibleImage\" Message=\"The image 'r.azurecr.io/vector_add:1' in container group 'adder' is not accessible. "
    'Please check the image and registry credential."'
)


@of_table("error")
def test_what_azure_takes_a_while_later_is_known(error: str) -> None:
    assert find(error) in known()


@of_table("error")
def test_what_stays_as_it_is_is_refused_at_once(error: str) -> None:
    assert find(error) is None


def test_a_try_is_given_up_when_azure_has_had_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    recorded = declare(lambda: pulumi.ComponentResource.register_outputs(_Component("one"), {}))
    monkeypatch.setattr(retry_hooks, "asyncio", SimpleNamespace(sleep=sleep))  # not of other loops
    [hook] = recorded.error_hooks.values()
    errors: list[str] = []
    while asyncio.run(_asked(hook, [NO_PULL, *errors])):
        errors.append(NO_PULL)
        assert len(errors) < 100, "the engine tries no more than a hundred times"
    assert 15 * 60 <= sum(slept) <= 15 * 60 + transient_errors.PAUSE_SECONDS[1]
    assert recorded.log[-1] == (
        "adder-group: the role assignment for pulling its image isn't effective yet, after 15 minutes; "
        "run `pulumi up` again to continue"
    )
    assert slept[:3] == [pause(1), pause(2), pause(3)] == [5, 10, 15]
    assert not asyncio.run(_asked(hook, ["the sum of it all", NO_PULL]))


@of_table("error", "told")
def test_what_stays_refused_comes_with_what_to_do(error: str, told: str) -> None:
    recorded = declare(lambda: pulumi.ComponentResource.register_outputs(_Component("one"), {}))
    [hook] = recorded.error_hooks.values()
    before = len(recorded.log)
    assert not asyncio.run(_asked(hook, [error]))
    [line] = recorded.log[before:]
    assert line.startswith("adder-group: ")
    assert told in line


def test_a_create_that_azure_accepted_is_left_to_the_next_up_and_the_engine_forgets_it_on_a_second_try() -> None:
    recorded = declare(lambda: pulumi.ComponentResource.register_outputs(_Component("one"), {}))
    [hook] = recorded.error_hooks.values()
    assert not asyncio.run(_asked(hook, [f"1 error occurred:\n\t* {NO_PULL}\n\n"]))
    assert recorded.log[-1].endswith("it exists: run `pulumi up` again, which updates it")


def test_a_create_whose_resource_appears_behind_a_refusal_is_told_by_name_for_who_takes_it_in() -> None:
    recorded = declare(lambda: pulumi.ComponentResource.register_outputs(_Component("one"), {}))
    [hook] = recorded.error_hooks.values()
    there = "cannot create already existing resource '/subscriptions/s/x'"
    before = len(recorded.log)
    assert not asyncio.run(_asked(hook, [there, 'Status=409 Code="Conflict" Message="An operation is in progress."']))
    [line] = recorded.log[before:]
    assert line.startswith("adder-group: it has appeared behind a refusal")
    assert not asyncio.run(_asked(hook, [there])), "it was there before, and is somebody else's"
    assert recorded.log[before:] == [line]


LACKS = 'Code="AuthorizationFailure" Message="The identity \'ml\' does not have permission on the vault."'


def test_a_want_of_rights_passes_where_the_roles_are_new_and_nowhere_else() -> None:
    made: list[retry_hooks.NewRoles] = []

    class Component(pulumi.ComponentResource):
        def __init__(self) -> None:
            super().__init__("a:b:Component", "one")
            made.append(retry_hooks.NewRoles(self))
            retry_hooks.hooks(self, made[0])

    recorded = declare(lambda: Component().register_outputs({}))
    [hook] = recorded.error_hooks.values()
    assert not asyncio.run(_asked(hook, [LACKS]))
    bound = made[0].hooks
    assert bound is not None
    [noting] = bound.after_create or []
    assert isinstance(noting, pulumi.ResourceHook)
    noting.callback(pulumi.ResourceHookArgs(urn="", id="", name="", type=""))
    passed = [*[LACKS] * 100]  # its time is over by then, so that nobody waits here
    before = len(recorded.log)
    assert not asyncio.run(_asked(hook, passed))
    assert recorded.log[before:] == [
        "adder-group: its role assignments are new and not in effect yet, after 15 minutes; run `pulumi up` again to continue"
    ]
    assert not asyncio.run(_asked(hook, ['Code="QuotaExceeded" Message="too many"', LACKS]))
    denied = f"RequestDisallowedByPolicy: /subscriptions/s/providers/Microsoft.Authorization/policyAssignments/{'a' * 8}"
    assert not asyncio.run(_asked(hook, [denied, LACKS]))


async def _asked(hook: pulumi.ErrorHook, errors: list[str]) -> bool:
    args = pulumi.ErrorHookArgs(urn="", id="", name="adder-group", type="", failed_operation="create", errors=errors)
    answer: Any = hook(args)
    return bool(await answer)


class _Component(pulumi.ComponentResource):
    def __init__(self, name: str) -> None:
        super().__init__("a:b:Component", name)
        retry_hooks.hooks(self)
