"""The command line of `review` and the repositories that it reads, without an engine."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.stack.inventory import Inventory
from azure_gpu_operations import project as projects
from azure_gpu_operations.__main__ import main
from azure_gpu_operations.preflight import left_open
from azure_gpu_operations.project import Project
from azure_gpu_operations.review import command, reviewing
from azure_gpu_operations.review.base import Against
from azure_gpu_operations.review.model import Budget, Lane, Outcome, StackReview
from azure_gpu_operations.review.repository import Repository, RepositoryError, StackFiles
from tests.operations.review import sample
from tests.support import newer
from tests.support.embedded import SUBSCRIPTION

FILES = {
    "Pulumi.yaml": "name: azure-gpu\nruntime: python\n",
    "Pulumi.dev.yaml": "config:\n  azure-gpu:team: a\n",
    "Pulumi.old.yaml": "config: {}\n",
}
COMMIT = "c" * 40


class Folder:
    """A project in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)


class Checkout(Folder):
    """The same as a checkout of `main` with one commit; `run` answers what `Repository` asks of git."""

    is_shallow = False

    def run(self, *words: str, utc: bool = False) -> "subprocess.CompletedProcess[bytes]":
        assert not utc
        now = {each.relative_to(self.root).as_posix(): each.read_text() for each in self.root.rglob("*") if each.is_file()}
        changed = [name for name in FILES if now.get(name) != FILES[name]]
        new = [name for name in now if name not in FILES]
        known: dict[tuple[str, ...], str] = {
            ("rev-parse", "--show-toplevel"): f"{self.root}\n",
            ("rev-parse", "--verify", "--quiet", "main^{commit}"): f"{COMMIT}\n",
            ("rev-parse", "--verify", "HEAD"): f"{COMMIT}\n",
            ("status", "--porcelain"): "".join(f" M {name}\n" for name in [*changed, *new]),
            ("diff", "--name-only", "-z", "--no-renames", COMMIT): "".join(f"{name}\0" for name in changed),
            ("ls-files", "--others", "--exclude-standard", "-z", "--full-name", str(self.root)): "".join(
                f"{name}\0" for name in new
            ),
            ("ls-tree", "--name-only", "-z", COMMIT): "".join(f"{name}\0" for name in FILES),
            **{("show", f"{COMMIT}:{name}"): text for name, text in FILES.items()},
        }
        if not self.is_shallow:
            known["merge-base", COMMIT, COMMIT] = f"{COMMIT}\n"
        return subprocess.CompletedProcess(words, 0 if words in known else 128, known.get(words, "").encode(), b"fatal: no\n")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    made = Checkout(tmp_path / "repository")
    monkeypatch.setattr(Repository, "_run", lambda _, *words, **more: made.run(*words, **more))
    for module in (projects, command, reviewing):
        monkeypatch.setattr(module, "project", lambda: Project(made.root, made.root))
    return made


class Git(Folder):
    """A real repository with the project in it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self("init", "-q", "-b", "main")
        self.first = self.commit()

    def __call__(self, *words: str) -> str:
        who = ("-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *who, *words], cwd=self.root, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self) -> str:
        self("add", "--all")
        self("commit", "-qm", "m")
        return self("rev-parse", "HEAD")


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return Git(tmp_path / "repository")


@pytest.fixture
def reviewed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts these reviews in the place of an embedded Azure's."""

    def put(*stacks: StackReview) -> None:
        monkeypatch.setattr(reviewing, "require_embedded_azure", lambda: None)
        monkeypatch.setattr(reviewing, "reviewed_on_embedded", lambda chosen, *_: [each for each in stacks if chosen])

    return put


def stack(**more: object) -> StackReview:
    return StackReview("dev", "Pulumi.dev.yaml", Lane.EMBEDDED, Outcome.CHANGED)._replace(**more)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--base", "nowhere"], "commit not found"),
        (["--base", "-x"], "invalid commit name"),
        (["--base", "main", "--stack", "absent"], "stack file not found; given: absent; allowed: dev, old"),
        (["--base", "main", "--busy-hours", "731"], "a month has 730 hours"),
    ],
)
def test_a_wrong_word_is_one_line(checkout: Checkout, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert checkout.root
    assert main(["review", *words] if words[1] != "-x" else ["review", "--base=-x"]) == 2
    error = capsys.readouterr().err.strip()
    assert said in error
    assert "\n" not in error


@pytest.mark.slow
def test_outside_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "project", lambda: Project(tmp_path, tmp_path))
    assert main(["review", "--base", "main"]) == 2
    error = capsys.readouterr().err.strip()
    assert "not a git repository" in error
    assert "\n" not in error


def test_a_clone_without_the_base_says_so(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    checkout.is_shallow = True
    assert main(["review", "--base", "main"]) == 0
    assert "fetch-depth: 0" in capsys.readouterr().out


def test_a_change_that_touches_no_stack_is_reviewed_at_once(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    checkout.write("README.md", "x")
    assert main(["review", "--base", "main"]) == 0
    assert "No stack is changed" in capsys.readouterr().out


def test_a_deleted_stack_file_needs_no_azure(checkout: Checkout, tmp_path: Path) -> None:
    (checkout.root / "Pulumi.old.yaml").unlink()
    assert main(["review", "--base", "main", "--out", str(tmp_path / "out")]) == 0
    assert "deployed resources stay" in (tmp_path / "out" / "comment.md").read_text()
    told = json.loads((tmp_path / "out" / "review.json").read_text())
    assert (told["form"], told["stacks"][0]["outcome"], told["changed_files"]) == (1, "deleted", ["Pulumi.old.yaml"])
    assert told["head"] == f"{COMMIT}+"
    assert json.loads((tmp_path / "out" / "annotations.json").read_text()) == []
    assert (tmp_path / "out" / "review.md").read_text() == (tmp_path / "out" / "comment.md").read_text()


def test_exit_codes_say_what_was_found(checkout: Checkout, reviewed: Callable[..., None]) -> None:
    checkout.write("Pulumi.dev.yaml", "config:\n  azure-gpu:team: b\n")
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


@pytest.mark.slow
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


@pytest.mark.slow
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


POOL = {"size": "Standard_NC4as_T4_v3", "dedicated_nodes": 1, "expires_after": "2026-12-31"}


def test_a_live_review_asks_for_the_quotas_of_what_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def decided(taken: Inventory, _: object, added: Inventory | None, say: Callable[[str], None]) -> tuple[Problem, ...]:
        asked.append([use.path for use in added.uses] if added is not None else [])
        say("not read")
        return (Problem("pools.q.size", "too few", code=Code.NO_QUOTA),)

    monkeypatch.setattr(left_open, "decided", decided)
    base, head = tmp_path / "base" / "Pulumi.more.yaml", tmp_path / "Pulumi.more.yaml"
    base.parent.mkdir()
    for file, pools in ((base, {"p": POOL}), (head, {"p": POOL, "q": POOL})):
        says = {"team": "a", "location": "eastus", "as_of": "2026-11-21", "batch_account": "create", "pools": pools}
        foundation = dict.fromkeys(("identity", "storage"), "create")
        config = {f"azure-gpu:{key}": value for key, value in {**says, "foundation": foundation}.items()}
        file.write_text(yaml.safe_dump({"config": {**config, "azure-native:subscriptionId": SUBSCRIPTION}}))
    there = {"resources": [{"type": "g", "id": "/there"}]}
    found: list[tuple[Severity, list[str]]] = []
    for deployment, of_base in (({}, base), (there, base), (there, None)):
        files, against = StackFiles("more", head.name, None, None), Against(deployment, [], ())
        compared = reviewing.Compared(files, Lane.LIVE, against, of_base, None, head)
        missing: list[str] = []
        now, _, _ = reviewing._problems(compared, missing)
        found += [(each.severity, missing) for each in now]
    assert asked == [["pools.p.size", "pools.q.size"], ["pools.q.size"], []]
    assert found == [(Severity.ERROR, ["not read"]), (Severity.WARNING, ["not read"]), (Severity.WARNING, ["not read"])]


def test_a_region_or_size_that_the_catalog_has_never_heard_of_is_one_warning_of_a_review(tmp_path: Path) -> None:
    file, wrong = tmp_path / "Pulumi.newer.yaml", list[object]()
    cases = [(each, POOL, "location") for each in newer.REGIONS]
    cases += [("eastus", {**POOL, "size": each}, "pools.p.size") for each in newer.SIZES]
    for region, pool, path in cases:
        says = {"team": "a", "location": region, "as_of": "2026-11-21", "batch_account": "create", "pools": {"p": pool}}
        foundation = dict.fromkeys(("identity", "storage"), "create")
        config = {f"azure-gpu:{key}": value for key, value in {**says, "foundation": foundation}.items()}
        file.write_text(yaml.safe_dump({"config": {**config, "azure-native:subscriptionId": SUBSCRIPTION}}))
        files = StackFiles("newer", file.name, None, None)
        compared = reviewing.Compared(files, Lane.EMBEDDED, Against({}, [], ()), None, None, file)
        now, _, _ = reviewing._problems(compared, [])
        if [(each.path, each.severity) for each in now] != [(path, Severity.WARNING)]:
            wrong.append((region, pool, now))
    assert (len(cases), wrong) == (20, [])
