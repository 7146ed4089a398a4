"""The hash of a build context, held against the shell line that a Dockerfile computes it with."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from azure_gpu.formats.build_context import BuildContextError, context_files, context_hash
from tests.components.tables import rows_of
from tests.support.examples import examples

SHELL = "find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16"
needs_sha256sum = pytest.mark.skipif(shutil.which("sha256sum") is None, reason="this machine has no sha256sum")


def by_hand(folder: Path) -> str:
    """What the line prints, as coreutils document it: a line for each file in the order of bytes, hashed again."""
    found = sorted(os.fsencode(f"./{path.relative_to(folder)}") for path in folder.rglob("*") if path.is_file())
    lines = [
        hashlib.sha256((folder / os.fsdecode(name)).read_bytes()).hexdigest().encode() + b"  " + name + b"\n" for name in found
    ]
    return hashlib.sha256(b"".join(lines)).hexdigest()[:16]


def by_shell(folder: Path) -> str:
    return subprocess.run(["sh", "-c", SHELL], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.slow
@needs_sha256sum
def test_the_hash_is_the_one_that_the_shell_computes(tmp_path: Path) -> None:
    fill(
        tmp_path, {"b": b"1", "a/b": b"2", "a.txt": b"", "a b/c d": b"3", "ü/ß": b"4", "Z": b"5", ".hidden": b"6", "-dash": b"7"}
    )
    assert context_hash(tmp_path) == by_shell(tmp_path) == by_hand(tmp_path)
    assert len(context_hash(tmp_path)) == 16


NAMES = st.text(alphabet=st.sampled_from("abZ09 ._-+~#%'\"$ßé"), min_size=1, max_size=6).filter(
    lambda name: name not in (".", "..")
)


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.dictionaries(st.tuples(NAMES, NAMES), st.binary(max_size=20), min_size=1, max_size=6))
def test_any_files_hash_as_by_that_line(tmp_path_factory: pytest.TempPathFactory, files: dict[tuple[str, str], bytes]) -> None:
    folder = fill(tmp_path_factory.mktemp("context"), {f"{parent}/{name}": content for (parent, name), content in files.items()})
    assert context_hash(folder) == by_hand(folder)


def test_what_a_git_checkout_does_not_have_is_left_out(tmp_path: Path) -> None:
    fill(tmp_path, {"a.py": b"", "__pycache__/a.pyc": b"", "deep/__pycache__/b.pyc": b""})
    assert context_files(tmp_path) == ["a.py"]


@pytest.mark.parametrize(("patterns", "left"), rows_of(__file__, "dockerignore_leaves_out_what_it_names"))
def test_dockerignore_leaves_out_what_it_names(tmp_path: Path, patterns: str, left: list[str]) -> None:
    fill(tmp_path, {"a.log": b"", "build/x": b"", "deep/a.log": b"", "deep/build/x": b"", "keep": b""})
    (tmp_path / ".dockerignore").write_text(patterns)
    expected = sorted(left + ([] if patterns.startswith("*\n") else [".dockerignore"]))
    if patterns == "?eep":
        expected = [".dockerignore", "a.log", "build/x"]
    assert context_files(tmp_path) == expected


@pytest.mark.parametrize("name", ["back\\slash", "line\nbreak"])
def test_names_that_sha256sum_writes_otherwise_are_refused(tmp_path: Path, name: str) -> None:
    fill(tmp_path, {name: b""})
    with pytest.raises(BuildContextError, match="rename the file"):
        context_hash(tmp_path)


def test_a_link_is_refused_by_name(tmp_path: Path) -> None:
    fill(tmp_path, {"a": b""})
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(BuildContextError, match="link is a link"):
        context_hash(tmp_path)
