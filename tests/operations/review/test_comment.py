"""The comment of a review: what comes first, what survives a cut, and that no text of a stack acts."""

import re
import time

import pytest
from markdown_it import MarkdownIt

from azure_gpu_operations.review.markdown import LIMIT, MARKER, code, comment, text, whole
from azure_gpu_operations.review.model import Lane, Outcome, Review, StackReview
from tests.operations.review import sample


def test_what_holds_data_is_in_the_first_ten_lines_with_its_key_its_cost_and_the_milder_way() -> None:
    first = "\n".join(comment(sample.sample()).splitlines()[:10])
    assert first.startswith(MARKER)
    assert "storage account" in first
    assert "`team`" in first
    assert "alternative:" in first
    assert "USD a month" in first
    assert "Standard_NC" in first


def test_what_one_key_forces_is_one_line_of_sixty_words_with_what_an_approval_needs() -> None:
    [stack] = sample.sample().stacks[:1]
    kinds = ("storage account", "registry", "log workspace", "Batch account", "key vault", "workspace", "Batch pool", "identity")
    milder = "set team back to lite; to record another owner, add a tag in `tags`"
    lost = [
        stack.dangers[0]._replace(
            what=kind, name=f"name-{number}", cause="team", milder=milder, lost="its data", is_held=number < 6
        )
        for number, kind in enumerate(kinds)
    ]
    shown = comment(Review("b" * 40, "a" * 40, "", (stack._replace(dangers=tuple(lost)),)))
    [line] = [line for line in shown.splitlines() if line.startswith("- :red_circle: `team`")]
    assert sum(any(map(str.isalnum, word)) for word in line.split()) <= 60
    for part in ("**8 are ", "storage account `name-0`", "and 2 more", "alternative: set team back", "2 hold no data"):
        assert part in line


def test_a_stack_that_nothing_changes_is_one_line() -> None:
    told = comment(Review("b" * 40, "a" * 40, "2026-11-25T00:00:00Z", ()))
    assert "No stack is changed" in told
    unchanged = StackReview("dev", "Pulumi.dev.yaml", Lane.EMBEDDED, Outcome.UNCHANGED, unchanged=42)
    assert "### Stack `dev`: unchanged, 42 resources" in comment(Review("b" * 40, "a" * 40, "", (unchanged,)))


def test_a_rejected_stack_has_its_problems_and_no_costs() -> None:
    told = comment(Review("b" * 40, "a" * 40, "", (sample.rejected(),)))
    assert "### Stack `dev`: rejected, 1 problem\n- :no_entry: pools.train.size: Standard_NC6s_v3 was retired" in told
    assert "(`Pulumi.dev.yaml:38`)" in told
    assert "USD" not in told


@pytest.mark.parametrize("resources", [200, 2_000])
def test_totals_survive_a_cut(resources: int) -> None:
    large = sample.large(resources)
    whole = comment(large)
    assert len(whole) <= LIMIT
    for stack in large.stacks:
        assert f"### Stack `{stack.stack}`" in whole
    assert whole.count("USD a month") == sum(stack.costs is not None for stack in large.stacks)
    cut = comment(large, limit=8_000)
    assert 6_000 < len(cut) <= 8_000
    assert cut.count("<details>") == cut.count("</details>") > 0
    assert "The rest is cut" in cut
    assert "whole report is in the artifact" in cut
    assert "USD a month" in cut


def test_the_whole_report_has_every_resource_and_property_and_the_warnings_that_the_base_has_too() -> None:
    large = sample.large(2_000)
    told = whole(large)
    assert len(told) > LIMIT
    for resource in (resource for stack in large.stacks for part in stack.parts for resource in part.resources):
        assert code(resource.name) in told
        assert all(code(each.path) in told for each in resource.properties)
    assert "prod: 1 earlier warning<" in whole(sample.sample())


def test_one_key_that_forces_two_thousand_leaves_room_for_the_rest() -> None:
    large = sample.large(2_000)
    [stack, *others] = large.stacks
    one = stack.dangers[0] if stack.dangers else next(each for each in sample.sample().stacks if each.dangers).dangers[0]
    forced = tuple(one._replace(name=f"a-pool-with-a-long-name-{number}", cause="team") for number in range(2_000))
    told = comment(large._replace(stacks=(stack._replace(dangers=forced), *others)))
    assert len(told) <= LIMIT
    assert "and 1996 more" in told.splitlines()[2]
    assert "USD a month" in told
    assert told.rstrip().endswith("</sub>")


def test_a_comment_on_twenty_thousand_resources_ends() -> None:
    large = sample.large(20_000)
    began = time.process_time()
    comment(large)
    assert time.process_time() - began < 60  # about 1; one that looks at each pair takes hours


def test_a_cost_that_is_not_known_is_never_0() -> None:
    told = comment(sample.sample())
    for stack in sample.sample().stacks:
        if stack.costs is not None and stack.costs.after is not None and stack.costs.after.idle_month.unknown:
            assert "not known" in told


def test_texts_of_a_stack_cannot_act() -> None:
    told = comment(sample.hostile())
    assert all(line.replace("\u200b", "").isprintable() for line in told.splitlines())
    tokens = [each for block in MarkdownIt("commonmark").enable("table").parse(told) for each in (block, *(block.children or ()))]
    html = " ".join(each.content for each in tokens if each.type in ("html_block", "html_inline"))
    tags = {each.strip("</>").split()[0] for each in re.findall(r"<[^>]*>", html)}
    assert tags <= {"details", "summary", "sub", "br", "!--"}
    assert [each.attrs for each in tokens if each.type in ("link_open", "image")] == []
    shown = " ".join(each.content for each in tokens if each.type in ("text", "html_block"))
    assert re.findall(r"@\w+", shown) == []
    assert re.findall(r"(?<!&)#\d+", html) == []


def test_code_ends_where_it_should() -> None:
    assert code("a`b") == "`a'b`"
    assert code("") == "`''`"
    assert code("one\ntwo") == "`one two`"


def test_a_sentence_keeps_its_code_and_calls_nobody() -> None:
    assert text("run `up --stack a_b` for @team, see [x](y) <b>") == "run `up --stack a_b` for @\u200bteam, see \\[x\\](y) &lt;b>"
    assert text("an odd ` one") == "an odd ' one"
    assert "@exa" not in text("x" * 470 + " jo@example.com")
    assert text("mail jo@example.com") == "mail [e-mail]".replace("[", "\\[").replace("]", "\\]")
