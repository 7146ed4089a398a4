"""Every command that the pages print is on one list, which says what runs it, or why nothing here can."""

from tests.support.embedded import CHECKOUT
from tests.support.page_commands import listed, printed, steps


def test_each_command_of_a_page_is_listed_once_and_no_command_that_has_gone() -> None:
    pages = set(printed().values())
    run = {step.command for setting in listed()["run"] for step in steps(setting)}
    rest = [entry for kind in ("tested", "not_here") for entries in listed()[kind].values() for entry in entries]
    whole_pages = {entry for entry in rest if entry in pages}
    expected = {command for command, page in printed().items() if page not in whole_pages}
    named = [*run, *(entry for entry in rest if entry not in pages)]
    assert sorted(expected - set(named)) == [], "printed, and not on the list"
    assert sorted(set(rest) - pages - expected) == [], "on the list, and not printed"
    assert sorted({each for each in named if named.count(each) > 1}) == [], "more than once on the list"


def test_the_tests_that_are_said_to_run_a_command_are_there() -> None:
    assert [file for file in listed()["tested"] if not (CHECKOUT / file).is_file()] == []


def test_every_stack_that_make_can_bring_up_is_previewed_brought_up_twice_and_taken_down() -> None:
    for stack in ("local", "lite", "documents", "dev"):
        of_stack = "" if stack == "local" else f" STACK={stack}"
        commands = [step.command for step in steps(stack)]
        assert commands.count(f"make up{of_stack}") == 2, stack
        assert f"make preview{of_stack}" in commands, stack
        assert commands[-1] == "make down", stack
