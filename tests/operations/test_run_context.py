"""Build contexts: the same files always give the same tag and the same bytes."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from azure_gpu.formats import dockerfile
from azure_gpu.formats.build_context import Context, archive, context_hash
from azure_gpu_operations.run.context import BASE_IMAGE, of_folder, of_script

SCRIPT = "print('hello')\n"


def script(name: str = "train.py", text: str = SCRIPT, requirements: str = "numpy\n", base: str = BASE_IMAGE) -> Context:
    return of_script(name, text, requirements, base)


def members(packed: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as tar:
        # pyrefly: ignore[missing-attribute]
        return {member.name: tar.extractfile(member).read() for member in tar.getmembers()}


def test_the_tag_is_the_hash_that_a_folder_with_these_files_has(tmp_path: Path) -> None:
    context = script()
    for name, content in context.files.items():
        (tmp_path / name).write_bytes(content)
    assert context.tag == context_hash(tmp_path)


def test_the_same_files_give_the_same_bytes_in_whatever_order_they_came() -> None:
    files = {"b.txt": b"2", "a/c.txt": b"1", "Dockerfile": b"FROM scratch\n"}
    first, second = of_folder("work", files), of_folder("work", dict(reversed(files.items())))
    assert archive(first) == archive(second)
    assert list(members(archive(first))) == ["Dockerfile", "a/c.txt", "b.txt"]


def test_an_archive_holds_no_time_no_owner_and_no_name() -> None:
    packed = archive(script())
    assert gzip.GzipFile(fileobj=io.BytesIO(packed)).mtime in (0, None)
    assert packed[4:8] == b"\0\0\0\0"
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as tar:
        assert {(entry.mtime, entry.uid, entry.gid, entry.uname, entry.mode) for entry in tar} == {(0, 0, 0, "", 0o644)}


def test_what_may_be_run_stays_so() -> None:
    context = of_folder("work", {"Dockerfile": b"", "start.sh": b"#!/bin/sh\n"}, frozenset({"start.sh"}))
    with tarfile.open(fileobj=io.BytesIO(archive(context)), mode="r:gz") as tar:
        assert {entry.name: entry.mode for entry in tar} == {"Dockerfile": 0o644, "start.sh": 0o755}


@pytest.mark.parametrize(
    "changed",
    [
        script(text="print('bye')\n"),
        script(requirements="numpy==2.0\n"),
        script(base="python:3.12-slim"),
        script(requirements=""),
    ],
)
def test_another_script_another_requirement_or_another_base_is_another_tag(changed: Context) -> None:
    assert changed.tag != script().tag


def test_a_scripts_dockerfile_installs_runs_as_nobody_and_can_be_read() -> None:
    text = script().files["Dockerfile"].decode()
    parsed, problems = dockerfile.parse(text)
    assert problems == []
    assert parsed.stages[0].start.image == "mcr.microsoft.com/mirror/docker/library/python:3.11-slim"
    assert parsed.stages[0].instructions[-1] == dockerfile.Entrypoint(10, ("python", "/app/train.py"))
    assert "USER 10001" in text
    assert "pip install --no-cache-dir --root-user-action=ignore -r requirements.txt" in text


def test_without_requirements_nothing_is_installed_and_no_file_is_sent() -> None:
    context = script(requirements="\n  \n")
    assert sorted(context.files) == ["Dockerfile", "train.py"]
    assert "pip" not in context.files["Dockerfile"].decode()


@pytest.mark.parametrize(
    ("name", "repository", "file"),
    [
        ("train.py", "run/train", "train.py"),
        ("My Training (2).py", "run/my-training-2", "My_Training_2_.py"),
        ("__main__.py", "run/main", "__main__.py"),
        ("über.py", "run/ber", "_ber.py"),
        ("-x.py", "run/x", "script_-x.py"),
        ("Ж.py", "run/script", "_.py"),
    ],
)
def test_any_file_name_becomes_a_name_that_a_registry_and_a_dockerfile_take(name: str, repository: str, file: str) -> None:
    context = script(name)
    assert context.repository == repository
    assert file in context.files
    assert f'ENTRYPOINT ["python", "/app/{file}"]' in context.files["Dockerfile"].decode()


def test_a_workload_is_called_as_the_stacks_own_build_calls_it() -> None:
    assert of_folder("vector_add", {"Dockerfile": b""}).image.startswith("vector_add:")
