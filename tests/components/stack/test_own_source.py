"""Where workloads are built from when a stack file doesn't set it: the checkout's origin, or where the package came from."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from azure_gpu.stack import own_source
from azure_gpu.stack.settings import Settings, read
from tests.components.recording import PROJECT, STACK
from tests.components.settings_of import TODAY, configuration, pure_problems
from tests.support.tables import of_table, rows_of

ORIGIN = "https://github.com/acme/azure-gpu.git"
FILE = {
    "foundation": dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create"),
    "jobs": {"add": {"workload": "vector_add", "gpu": "T4", "expires_after": "2026-12-31"}},
}

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """A checkout whose origin has its only commit: `git("status")` there."""

    def run(*words: str) -> str:
        author = ("-c", "user.name=t", "-c", "user.email=t@localhost")
        done = subprocess.run(["git", "-C", str(tmp_path), *author, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads" / "Dockerfile").write_text("FROM scratch\n")
    run("init", "--quiet")
    run("remote", "add", "origin", ORIGIN)
    run("add", "--all")
    run("commit", "--quiet", "--message", "workloads")
    run("update-ref", "refs/remotes/origin/main", "HEAD")
    return run


def of(checkout: Path) -> str:
    return own_source.of_checkout(checkout, checkout / "workloads")


@pytest.mark.slow
def test_a_checkout_is_built_from_its_origin_at_the_last_commit_that_changed_the_workloads(tmp_path: Path, git: Git) -> None:
    commit = git("rev-parse", "HEAD")
    assert of(tmp_path) == f"{ORIGIN}#{commit}"
    (tmp_path / "note.txt").write_text("another file")
    git("add", "--all")
    git("commit", "--quiet", "--message", "a note")
    (tmp_path / "note.txt").write_text("changed")
    assert of(tmp_path) == f"{ORIGIN}#{commit}", "what isn't built changes nothing"


@pytest.mark.slow
def test_a_hook_of_another_repository_changes_nothing(tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = git("rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "another" / ".git"))
    assert of(tmp_path) == f"{ORIGIN}#{commit}"


@pytest.mark.slow
def test_workloads_that_origin_has_not_are_built_from_nowhere(tmp_path: Path, git: Git) -> None:
    file = tmp_path / "workloads" / "Dockerfile"
    file.write_text("FROM busybox\n")
    assert of(tmp_path) == "", "not committed"
    git("commit", "--quiet", "--all", "--message", "not pushed")
    assert of(tmp_path) == "", "not pushed"
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert of(tmp_path).endswith(git("rev-parse", "HEAD"))
    git("remote", "set-url", "origin", "/srv/git/azure-gpu.git")
    assert of(tmp_path) == "", "no registry reaches it"


@pytest.mark.slow
def test_without_git_or_an_origin_there_is_no_source(tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    git("remote", "remove", "origin")
    assert of(tmp_path) == ""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert of(tmp_path) == ""


ANSWERS = {"remote": ORIGIN, "log": "ab12", "status": "", "branch": "  origin/main"}


@pytest.mark.parametrize(("answers", "expected"), rows_of(__file__, "a_checkout_is_the_source_where_git_says_all_of_it"))
def test_a_checkout_is_the_source_where_git_says_all_of_it(
    answers: dict[str, str | None], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, str | None] = {**ANSWERS, **answers}
    monkeypatch.setattr(own_source, "_git", lambda _, *words: given[words[0]])
    assert of(Path("/checkout")) == expected


@of_table("address", "expected")
def test_only_an_address_that_takes_no_key_is_one(address: str | None, expected: str) -> None:
    assert own_source.public(address) == expected


def test_a_package_is_built_from_what_it_was_installed_from() -> None:
    vcs = {"vcs": "git", "commit_id": "ab12", "requested_revision": "v0.2.0"}
    record = {"url": ORIGIN.removesuffix(".git"), "subdirectory": "components", "vcs_info": vcs}
    assert own_source.of_package(json.dumps(record)) == f"{ORIGIN}#ab12"
    for other in ("", "[]", '{"url": 1}', '{"url": "file:///home/me/azure-gpu", "dir_info": {"editable": true}}'):
        assert own_source.of_package(other) == ""


def settings(found: str, **more: object) -> Settings:
    return read(configuration({**FILE, **more}), TODAY, own_source=lambda: found)


def test_a_file_that_sets_no_source_takes_it_and_one_that_sets_its_own_keeps_it() -> None:
    found = settings(f"{ORIGIN}#ab12")
    assert found.parts["foundation"]["foundation"].get("image_source") == f"{ORIGIN}#ab12"
    assert found.own_source == (f"{ORIGIN}#ab12", ("vector_add",))
    assert not [each for each in pure_problems(found, PROJECT, STACK) if each.path == "image_source"]
    own = settings(f"{ORIGIN}#ab12", image_source="https://example.com/mine.git#1")
    assert (own.parts["foundation"]["foundation"].get("image_source"), own.own_source) == ("https://example.com/mine.git#1", None)
    assert settings(f"{ORIGIN}#ab12", jobs={}).own_source is None, "nothing is built"


def test_where_there_is_none_the_problem_names_both_fixes() -> None:
    [problem] = [each for each in pure_problems(settings(""), PROJECT, STACK) if each.path == "image_source"]
    assert "push the workloads as they are here to the checkout's `origin`" in problem.fix
    assert "pulumi config set image_source" in problem.fix
