"""The command line of `review` and the repositories that it reads, without an engine."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from azure_gpu_operations import project as projects
from azure_gpu_operations.__main__ import main
from azure_gpu_operations.project import Project
from azure_gpu_operations.review import command, reviewing
from azure_gpu_operations.review.model import Budget, Lane, Outcome, StackReview
from azure_gpu_operations.review.repository import Repository, RepositoryError
from tests.operations.review import sample


class Git:
    """A repository with a project in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self("init", "-q", "-b", "main")
        self.write("Pulumi.yaml", "name: azure-gpu\nruntime: python\n")
        self.write("Pulumi.dev.yaml", "config:\n  azure-gpu:team: a\n")
        self.write("Pulumi.old.yaml", "config: {}\n")
        self.first = self.commit()

    def __call__(self, *words: str) -> str:
        who = ("-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *who, *words], cwd=self.root, capture_output=True, text=True, check=True).stdout.strip()

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def commit(self) -> str:
        self("add", "--all")
        self("commit", "-qm", "m")
        return self("rev-parse", "HEAD")


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    made = Git(tmp_path / "repository")
    for module in (projects, command, reviewing):
        monkeypatch.setattr(module, "project", lambda: Project(made.root, made.root))
    return made


@pytest.fixture
def reviewed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts these reviews in the place of an embedded Azure's."""

    def put(*stacks: StackReview) -> None:
        monkeypatch.setattr(reviewing, "require_embedded_azure", lambda: None)
        monkeypatch.setattr(reviewing, "reviewed_on_embedded", lambda chosen, *_: [each for each in stacks if chosen])

    return put


def stack(**more: object) -> StackReview:
    return StackReview("dev", "Pulumi.dev.yaml", Lane.EMBEDDED, Outcome.CHANGED)._replace(**more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--base", "nowhere"], "commit not found"),
        (["--base", "-x"], "invalid commit name"),
        (["--base", "main", "--stack", "absent"], "stack file not found; given: absent; allowed: dev, old"),
        (["--base", "main", "--busy-hours", "731"], "a month has 730 hours"),
    ],
)
def test_a_wrong_word_is_one_line(git: Git, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert git.first
    assert main(["review", *words] if words[1] != "-x" else ["review", "--base=-x"]) == 2
    error = capsys.readouterr().err.strip()
    assert said in error
    assert "\n" not in error


def test_outside_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "project", lambda: Project(tmp_path, tmp_path))
    assert main(["review", "--base", "main"]) == 2
    error = capsys.readouterr().err.strip()
    assert "not a git repository" in error
    assert "\n" not in error


def test_a_clone_without_the_base_says_so(git: Git, capsys: pytest.CaptureFixture[str]) -> None:
    git("checkout", "-q", "--orphan", "alone")
    git.write("README.md", "another beginning")
    git.commit()
    assert main(["review", "--base", "main"]) == 0
    assert "fetch-depth: 0" in capsys.readouterr().out


def test_a_change_that_touches_no_stack_is_reviewed_at_once(git: Git, capsys: pytest.CaptureFixture[str]) -> None:
    git.write("README.md", "x")
    assert main(["review", "--base", "main"]) == 0
    assert "No stack is changed" in capsys.readouterr().out


def test_a_deleted_stack_file_needs_no_azure(git: Git, tmp_path: Path) -> None:
    (git.root / "Pulumi.old.yaml").unlink()
    assert main(["review", "--base", "main", "--out", str(tmp_path / "out")]) == 0
    assert "deployed resources stay" in (tmp_path / "out" / "comment.md").read_text()
    told = json.loads((tmp_path / "out" / "review.json").read_text())
    assert (told["form"], told["stacks"][0]["outcome"], told["changed_files"]) == (1, "deleted", ["Pulumi.old.yaml"])
    assert told["head"] == f"{git.first}+"
    assert json.loads((tmp_path / "out" / "annotations.json").read_text()) == []
    assert "Pulumi.old.yaml" in (tmp_path / "out" / "review.html").read_text()


def test_exit_codes_say_what_was_found(git: Git, reviewed: Callable[..., None]) -> None:
    git.write("Pulumi.dev.yaml", "config:\n  azure-gpu:team: b\n")
    danger = next(each for one in sample.sample().stacks for each in one.dangers if each.is_held)
    costs = next(one.costs for one in sample.sample().stacks if one.costs is not None)
    over = costs._replace(
        budget=Budget(1.0, costs.after.expected_month if costs.after else sample.costs(0, 0).idle_hour, is_over=True)
    )
    for found, option, code in (
        (stack(dangers=(danger,)), "danger", 5),
        (stack(), "danger", 0),
        (stack(costs=over), "over-budget", 5),
        (stack(outcome=Outcome.REJECTED), "rejected", 5),
        (stack(outcome=Outcome.FAILED), "danger", 1),
        ((stack(), stack(stack="other", outcome=Outcome.FAILED)), "danger", 1),  # nobody has seen what is in it
    ):
        reviewed(*(found if isinstance(found[0], StackReview) else (found,)))
        assert main(["review", "--base", "main", "--fail-on", option]) == code
    reviewed(stack(dangers=(danger,)))
    assert main(["review", "--base", "main"]) == 0


def test_a_branch_is_reviewed_from_where_it_began(git: Git) -> None:
    git("checkout", "-qb", "change")
    git.write("Pulumi.dev.yaml", "config:\n  azure-gpu:team: b\n")
    git.commit()
    git("checkout", "-q", "main")
    git.write("Pulumi.old.yaml", "config:\n  azure-gpu:team: c\n")
    git.commit()
    git("checkout", "-q", "change")
    repository = Repository(git.root)
    base, is_common = repository.common_ancestor(repository.commit("main"), repository.head())
    assert (base, is_common) == (git.first, True)
    assert repository.changed(base) == ("Pulumi.dev.yaml",)


def test_files_of_a_commit(git: Git, tmp_path: Path) -> None:
    repository = Repository(git.root)
    git.write("new name.txt", "x")
    git.write("Pulumi.dev.yaml", "changed")
    assert repository.changed(git.first) == ("Pulumi.dev.yaml", "new name.txt")
    assert repository.text_at(git.first, "Pulumi.dev.yaml") == "config:\n  azure-gpu:team: a\n"
    assert repository.text_at(git.first, "absent") is None
    (git.root / "link").symlink_to("/etc")
    (git.root / "other").symlink_to("Pulumi.yaml")
    repository.export(git.commit(), tmp_path / "linked")
    assert not (tmp_path / "linked" / "link").is_symlink()
    assert (tmp_path / "linked" / "other").read_text() == "name: azure-gpu\nruntime: python\n"
    repository.export(git.first, tmp_path / "out")
    assert (tmp_path / "out" / "Pulumi.dev.yaml").read_text() == "config:\n  azure-gpu:team: a\n"
    with pytest.raises(RepositoryError):
        repository.commit("main:Pulumi.dev.yaml")
