"""The hash of a build context, held against the shell line that a Dockerfile computes it with."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from azure_gpu.formats.build_context import BuildContextError, context_files, context_hash
from tests.support.examples import examples
from tests.support.tables import rows_of

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


def test_git_and_what_a_checkout_does_not_have_are_never_sent(tmp_path: Path) -> None:
    fill(tmp_path, {"a.py": b"", "__pycache__/a.pyc": b"", "deep/__pycache__/b.pyc": b"", ".git/HEAD": b"", "deep/.git": b""})
    (tmp_path / ".dockerignore").write_text("!.git\n!**/__pycache__\n")
    assert context_files(tmp_path) == [".dockerignore", "a.py"]


FILES = ("a.log", "build/x", "data/x", "deep/a.log", "deep/build/x", "keep", "part1.ckpt", "part7.ckpt", "[a]")


@pytest.mark.parametrize(("lines", "left"), rows_of(__file__, "ignore_files_mean_what_they_mean_to_docker"))
def test_ignore_files_mean_what_they_mean_to_docker(tmp_path: Path, lines: str, left: list[str]) -> None:
    fill(tmp_path, dict.fromkeys((*FILES, "Dockerfile"), b""))
    (tmp_path / ".dockerignore").write_text(lines)
    found = context_files(tmp_path)
    assert set(found) - {".dockerignore"} == {*left, "Dockerfile"}


@pytest.mark.parametrize(("lines", "place"), rows_of(__file__, "a_pattern_that_docker_refuses_is_refused_with_its_line"))
def test_a_pattern_that_docker_refuses_is_refused_with_its_line(tmp_path: Path, lines: str, place: str) -> None:
    (tmp_path / ".dockerignore").write_text(lines)
    with pytest.raises(BuildContextError, match=f"^.dockerignore, {place}: "):
        context_files(tmp_path)


def test_the_ignore_file_of_the_dockerfile_counts_alone(tmp_path: Path) -> None:
    fill(tmp_path, {"Dockerfile": b"", "train.py": b"", "data/x": b"", ".dockerignore": b"train.py"})
    (tmp_path / "Dockerfile.dockerignore").write_text("*\n!train.py\n")
    assert context_files(tmp_path) == ["Dockerfile", "train.py"]


def test_an_ignore_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, {".dockerignore": b"\xff\xfe"})
    with pytest.raises(BuildContextError, match="isn't UTF-8 text"):
        context_files(tmp_path)


@pytest.mark.parametrize(("lines", "looked"), [("data", False), ("*\n!train.py", False), ("data\n!data/a.py", True)])
def test_an_ignored_folder_is_read_only_if_something_of_it_may_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, looked: bool
) -> None:
    fill(tmp_path, {"train.py": b"", "data/x": b"", ".dockerignore": lines.encode()})
    seen: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: seen.append(Path(path).name) or scandir(path))
    context_files(tmp_path)
    assert ("data" in seen) == looked


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
