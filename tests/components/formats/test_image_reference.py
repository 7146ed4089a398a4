"""Image references, with Docker's defaults; literals from the reference grammar's own documentation."""

from hypothesis import given, strategies as st

from azure_gpu.formats import image_reference
from azure_gpu.formats.image_reference import ImageReference
from tests.support.tables import of_table

DIGEST = "sha256:" + "0123456789abcdef" * 4


@of_table("text", "full")
def test_a_reference_is_completed_as_docker_completes_it(text: str, full: str) -> None:
    assert str(image_reference.parse(text)) == full
    assert image_reference.check(text, "image") == []


@of_table("text", "said", "fix")
def test_what_cannot_be_parsed_is_said_with_the_likely_fix(text: str, said: str, fix: str) -> None:
    assert image_reference.parse(text) is None
    (problem,) = image_reference.check(text, "container_groups.train.image")
    assert problem.path == "container_groups.train.image"
    assert said in problem.message
    assert fix in problem.fix


@given(st.text(max_size=60))
def test_any_text_is_a_reference_or_a_problem_and_never_both(text: str) -> None:
    parsed = image_reference.parse(text)
    assert (parsed is None) == bool(image_reference.check(text, "image"))


@given(
    st.sampled_from(["docker.io", "localhost", "reg.azurecr.local", "127.0.0.1:5000"]),
    st.lists(st.from_regex(r"[a-z0-9]{1,8}(?:[._-][a-z0-9]{1,4})?", fullmatch=True), min_size=2, max_size=4),
    st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True),
)
def test_the_full_form_parses_back_to_itself(registry: str, words: list[str], tag: str) -> None:
    reference = ImageReference(registry, "/".join(words), tag)
    assert image_reference.parse(str(reference)) == reference
