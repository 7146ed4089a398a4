"""The tables of kinds agree with each other, with the keys of a stack file and with the components."""

from typing import Any, get_args, is_typeddict

import azure_gpu
from azure_gpu.formats.parts import PARTS
from azure_gpu.shared.overrides import OverridesOf
from azure_gpu.shared.validation import below, form, is_map, key_docstrings, key_hints
from azure_gpu.stack.file import StackFile, Switched
from azure_gpu.stack.kinds import KINDS

SECTIONS = {section: form(below(hint, "name") if is_map(hint) else hint) for section, hint in key_hints(StackFile).items()}
BY_NAME = {section for section, hint in key_hints(StackFile).items() if is_map(hint)}

NO_NAME_KEYS = {"budget_name", "container_name", "friendly_name"}  # not compared between components, or of what is within one


def is_switched(annotation: Any) -> bool:
    kind = form(annotation)
    return is_typeddict(kind) and key_docstrings(kind).get("enabled") == key_docstrings(Switched)["enabled"]


def test_every_section_with_parts_has_a_row() -> None:
    assert {kind.section: kind.by_name for kind in KINDS} == {
        section: section in BY_NAME for section, entry in SECTIONS.items() if is_typeddict(entry)
    }
    assert [kind.section for kind in KINDS] == [part.section for part in PARTS]
    assert [part.section for part in PARTS if part.drawn is None] == ["foundation"], "fill `drawn`: what the graph calls it"


def test_a_row_knows_which_keys_of_a_stack_file_its_parts_have() -> None:
    for kind in KINDS:
        hints = key_hints(SECTIONS[kind.section])
        inner = {key for key, hint in hints.items() if is_map(hint) and is_switched(below(hint, "name"))}
        assert set(kind.inner) == inner, kind.section
        assert kind.ends == ("expires_after" in hints), kind.section
        if kind.section != "foundation":  # whose parts have their own
            [of] = [each.azure_type for each in get_args(hints.get("overrides")) if isinstance(each, OverridesOf)] or [None]
            assert kind.of_overrides == of, kind.section
        names = {key for key in hints if key.endswith("_name")} - NO_NAME_KEYS
        assert {kind.name_key} - {""} == names, kind.section
        assert bool(kind.azure_types) == ("opts" in hints), kind.section
        assert kind.can_be_kept == ("keep" in hints or kind.section == "foundation"), kind.section


def test_what_a_row_puts_out_is_annotated_by_its_component() -> None:
    for kind in KINDS:
        attributes = {*kind.outputs.values(), *kind.mapped_outputs.values()}
        assert attributes <= getattr(azure_gpu, kind.component).__annotations__.keys(), kind.section
