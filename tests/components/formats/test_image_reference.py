"""Image references, with Docker's defaults; literals from the reference grammar's own documentation."""

from hypothesis import given, strategies as st

from azure_gpu.formats import image_reference
from azure_gpu.formats.image_reference import ImageReference
from tests.support.rows import each_row

DIGEST = "sha256:" + "0123456789abcdef" * 4


@each_row(
    ("text", "full"),
    [
        ("python", "docker.io/library/python:latest"),
        ("python:3.11-slim", "docker.io/library/python:3.11-slim"),
        ("microsoft/samples-tf-mnist-demo:gpu", "docker.io/microsoft/samples-tf-mnist-demo:gpu"),
        ("index.docker.io/library/python", "docker.io/library/python:latest"),
        ("k8s-gcrio.azureedge.net/cuda-vector-add:v0.1", "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1"),
        ("localhost/app", "localhost/app:latest"),
        ("localhost:5000/team/app:1", "localhost:5000/team/app:1"),
        ("reg.azurecr.io/a/b/c__d-e.f:Tag_1", "reg.azurecr.io/a/b/c__d-e.f:Tag_1"),
        (f"reg.azurecr.io/app@{DIGEST}", f"reg.azurecr.io/app@{DIGEST}"),
        (f"python:3.11@{DIGEST}", f"docker.io/library/python:3.11@{DIGEST}"),
    ],
)
def test_a_reference_is_completed_as_docker_completes_it(text: str, full: str) -> None:
    assert str(image_reference.parse(text)) == full
    assert image_reference.check(text, "image") == []


@each_row(
    ("text", "said", "fix"),
    [
        ("", "it is empty", "name an image"),
        ("my image", "white space", "remove"),
        ("https://reg.azurecr.io/app:1", "web address", "write 'reg.azurecr.io/app:1'"),
        ("reg.azurecr.io/App:1", "capital letters", "write 'app'"),
        ("app:", "the tag ''", "tag"),
        ("app:-x", "the tag '-x'", "tag"),
        ("app:" + "x" * 129, "128 letters", "tag"),
        ("app@sha256:12", "hexadecimal", "digest"),
        ("a//b", "the repository 'a//b'", "repository"),
        ("-reg.io/app", "the registry '-reg.io'", "registry"),
        ("reg.io/" + "a" * 250, "257 characters", "shorter"),
    ],
)
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
