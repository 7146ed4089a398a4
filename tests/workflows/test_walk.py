"""A pull request's whole way through the workflows, each `run:` line by bash: reviewed, reviewed again, merged, deployed.

The verbs that ask Azure are played: a job signs in by a token of GitHub's, which the embedded Azure doesn't take.
`tests/stack/test_saved_plans.py` has the real ones. `review` is played for the texts, and real once.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.embedded import CHECKOUT
from tests.workflows.hosting import BOT, GitHub, running
from tests.workflows.running import Repository, Run, Runner

pytestmark = pytest.mark.slow  # a checkout and a few processes for each job

MARKER = "<!-- azure-gpu-review -->"
VARIABLES = {"AZURE_TENANT_ID": "tenant", "AZURE_SUBSCRIPTION_ID": "subscription", "AZURE_CLIENT_ID": "client"}


def review(text: str, *annotations: Mapping[str, Any], code: int = 0) -> dict[str, Any]:
    return {
        "code": code,
        "files": {
            "review/comment.md": f"{MARKER}\n{text}\n",
            "review/annotations.json": json.dumps(annotations),
            "review/review.json": "{}",
        },
    }


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository(tmp_path_factory.mktemp("hosted") / "gpu.git")


@pytest.fixture
def github() -> Iterator[GitHub]:
    hosting = GitHub()
    with running(hosting):
        yield hosting


@pytest.fixture
def runner(github: GitHub, repository: Repository, engine_bin: Path, tmp_path: Path) -> Runner:
    backend = tmp_path / "backend"
    backend.mkdir()
    kept = {key: os.environ[key] for key in ("HOME", "LANG", "PATH", "XDG_CACHE_HOME") if key in os.environ}
    environment = {**kept, "PULUMI_SKIP_UPDATE_CHECK": "true", "PULUMI_HOME": str(tmp_path / "pulumi")}
    made = Runner(github, repository, tmp_path / "runner", environment, engine_bin)
    made.variables = {**VARIABLES, "PULUMI_BACKEND_URL": backend.as_uri()}
    made.secrets = {"PULUMI_CONFIG_PASSPHRASE": "a passphrase"}
    state = tmp_path / "state"
    state.write_text("1")
    made.played = {
        "review": review("nothing changes"),  # for the texts of these tests; one of them has the real review
        "end": {},  # delete this line when the verb is there
        "preview": {"state": str(state), "output": "~ 1 to update"},
        "up": {"state": str(state), "output": "updated"},
        "down": {"output": "destroyed"},
        "drift": {},
    }
    return made


def event(pull: dict[str, Any], action: str, base: str, **more: Any) -> dict[str, Any]:
    pull["base"]["sha"] = base
    return {"action": action, "number": pull["number"], "pull_request": pull, **more}


def completed(github: GitHub, run: Run) -> dict[str, Any]:
    return {"action": "completed", "workflow_run": github.runs[run.id], "repository": {"default_branch": "main"}}


def well(run: Run) -> Run:
    assert run.conclusion == "success", "\n".join(job.told() for job in run.jobs.values())
    return run


def post(runner: Runner, github: GitHub, repository: Repository, run: Run) -> Run:
    return runner.run("review-comment.yml", "workflow_run", completed(github, run), commit=repository.main)


def test_a_fork_is_reviewed_and_its_next_push_edits_the_same_comment(
    runner: Runner, github: GitHub, repository: Repository
) -> None:
    runner.has_make = True
    for number in range(150):  # others have talked before: the comment is on another page
        github.say(7, f"user-{number}", "hello")
    github.say(7, "mallory", f"{MARKER}\nI am the review")
    first = repository.commit("another size", {"Pulumi.dev.yaml": "config: {}\n"}, repository.main)
    pull = github.open_pull(7, first, "patch-1", fork=True)
    told = {"file": "Pulumi.dev.yaml", "line": 3, "level": "warning", "title": "replaced", "message": "pools.train.size"}
    runner.played["review"] = review("pools.train is replaced", *[told] * 120)
    reviewed = well(runner.run("review.yml", "pull_request", event(pull, "opened", repository.main), commit=first))
    assert runner.commands() == [["review", "--base", repository.main, "--out", "review", "--fail-on", "rejected"]]
    assert "pools.train is replaced" in reviewed.summary
    assert not github.check_runs
    assert [each["user"] for each in github.comments if each["user"] == BOT] == []  # a fork's token may write nothing

    well(post(runner, github, repository, reviewed))
    assert runner.checked_out[-1] == ("review-comment.yml", repository.main)
    [written] = [each for each in github.comments if each["user"] == BOT]
    assert written["body"].startswith(MARKER)
    assert "pools.train is replaced" in written["body"]
    [check] = github.check_runs.values()
    assert (check["head_sha"], check["conclusion"], len(check["output"]["annotations"])) == (first, "neutral", 120)

    second = repository.commit("the old size", {"Pulumi.dev.yaml": "config: {a: b}\n"}, first)
    pull["head"]["sha"] = second
    runner.played["review"] = review("nothing is replaced")
    reviewed_again = well(runner.run("review.yml", "pull_request", event(pull, "synchronize", repository.main), commit=second))
    well(post(runner, github, repository, reviewed_again))
    late = well(post(runner, github, repository, reviewed))  # the older one, once more
    assert "nothing was written" in late.jobs["comment"]["Comment"].output
    [edited] = [each for each in github.comments if each["user"] == BOT]
    assert edited["id"] == written["id"]
    assert "nothing is replaced" in edited["body"]
    assert "pools.train is replaced" not in edited["body"]
    assert {commit for workflow, commit in runner.checked_out if workflow == "review-comment.yml"} == {repository.main}
    assert runner.environments == []


def test_the_real_review_of_another_size_comes_into_the_comment_whole(
    runner: Runner, github: GitHub, repository: Repository, tmp_path: Path
) -> None:
    del runner.played["review"]
    runner.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")  # bases stay there
    text = (CHECKOUT / "Pulumi.lite.yaml").read_text()
    larger = text.replace("size: Standard_NC4as_T4_v3", "size: Standard_NC8as_T4_v3", 1)
    head = repository.commit("a larger machine", {"Pulumi.lite.yaml": larger}, repository.main)
    pull = github.open_pull(6, head, "larger", fork=True)
    reviewed = well(runner.run("review.yml", "pull_request", event(pull, "opened", repository.main), commit=head))
    well(post(runner, github, repository, reviewed))
    [body] = github.bodies(6)
    assert "The review is incomplete" not in body
    first = "\n".join(body.splitlines()[:14])
    assert ("Standard_NC8as_T4_v3" in first, "replace" in first) == (True, True), body[:3000]
    [artifact] = github.artifacts
    assert artifact["name"] == "review"
    [check] = github.check_runs.values()
    [line] = [number for number, each in enumerate(larger.splitlines(), 1) if "NC8as" in each]
    assert ("Pulumi.lite.yaml", line) in {(each["path"], each["start_line"]) for each in check["output"]["annotations"]}


def test_a_review_that_fails_is_posted_all_the_same(runner: Runner, github: GitHub, repository: Repository) -> None:
    head = repository.commit("wrong", {"Pulumi.dev.yaml": "config: {x: y}\n"}, repository.main)
    pull = github.open_pull(8, head, "wrong", fork=True)
    for played, shown in (
        (review("the file is rejected", code=5), "the file is rejected"),
        ({"code": 1}, "the run has no artifact"),
    ):
        runner.played["review"] = played
        run = runner.run("review.yml", "pull_request", event(pull, "synchronize", repository.main), commit=head)
        assert (run.conclusion, run.jobs["review"]["Review"].outcome) == ("failure", "failure")
        well(post(runner, github, repository, run))
        [body] = github.bodies(8)
        assert shown in body
        assert "ended with failure" in body


def test_a_branch_is_reviewed_against_what_is_deployed_too_and_forks_are_not(
    runner: Runner, github: GitHub, repository: Repository
) -> None:
    head = repository.commit("a branch", {"Pulumi.dev.yaml": "config: {z: y}\n"}, repository.main)
    pull = github.open_pull(9, head, "branch", fork=False)
    opened = event(pull, "opened", repository.main)
    runner.played["review"] = review("by the embedded Azure")
    well(post(runner, github, repository, well(runner.run("review.yml", "pull_request", opened, commit=head))))
    runner.played["review"] = review("by the state")
    runner.commands()
    live = well(runner.run("review-live.yml", "pull_request", opened, commit=head))
    assert runner.commands() == [["review", "--live", "--base", repository.main, "--out", "review"]]
    assert "signed in as client" in live.jobs["live"]["Sign in to Azure"].output
    well(post(runner, github, repository, live))
    [body] = github.bodies(9)
    assert body.index("by the state") < body.index("by the embedded Azure")
    assert runner.environments == ["azure-review"]
    fork = github.open_pull(10, head, "branch", fork=True)
    skipped = runner.run("review-live.yml", "pull_request", event(fork, "opened", repository.main), commit=head)
    assert skipped.conclusion == "skipped"
    assert post(runner, github, repository, skipped).conclusion == "skipped"
    assert github.bodies(10) == []


def test_what_was_merged_is_deployed_from_its_plan_and_a_stale_plan_is_refused(
    runner: Runner, github: GitHub, repository: Repository, tmp_path: Path
) -> None:
    runner.variables["AZURE_GPU_STACKS"] = '["dev", "prod"]'
    merged = repository.commit("merged", {"README.md": "merged"}, repository.main)
    pull = github.open_pull(11, merged, "feature", fork=False)
    pull |= {"state": "closed", "merged_at": "2026-11-25T00:00:00Z", "merge_commit_sha": merged}
    github.merged[merged] = [11]
    github.comments.append({"id": 1, "issue": 11, "body": f"{MARKER}\n", "user": BOT})

    def approval(workflow: str, job: str) -> None:
        if job == "deploy" and runner.environments[-1] == "dev":
            [body] = github.bodies(11)
            assert "`dev`: planned, waiting for the approval of environment `dev`" in body

    runner.before = approval
    deployed = runner.run("deploy.yml", "push", {"ref": "refs/heads/main"}, commit=merged)
    # The state that is played is one for both stacks: the deployment of the first makes the plan of the second stale.
    assert runner.environments == ["azure-read", "azure-read", "dev", "prod"]
    assert deployed.conclusion == "failure"
    assert [step.outcome for step in deployed.jobs["deploy"].steps if step.name == "Deploy"] == ["success", "failure"]
    [body] = github.bodies(11)
    assert "Stack `dev`: deployed as planned" in body
    assert "Stack `prod`: **not deployed**: its state has changed since the plan was made" in body
    assert "waits for" not in body
    assert {artifact["name"] for artifact in github.artifacts} == {"plan-dev", "plan-prod"}
    assert ["up", "--stack", "dev", "--plan", "plan.json"] in runner.commands()

    again = runner.run("deploy.yml", "push", {"ref": "refs/heads/main"}, commit=merged)
    assert again.conclusion == "failure"  # as before: dev goes first
    runner.variables["AZURE_GPU_STACKS"] = '["prod"]'
    well(runner.run("deploy.yml", "workflow_dispatch", {}, commit=merged))
    [body] = github.bodies(11)
    assert "Stack `prod`: deployed as planned" in body
    runner.played["preview"] = {"code": 1, "output": "error: quota"}
    failed = runner.run("deploy.yml", "push", {"ref": "refs/heads/main"}, commit=merged)
    assert (failed.jobs["plan"].result, failed.jobs["deploy"].result) == ("failure", "skipped")
    assert "Stack `prod`: no plan, nothing was deployed" in github.bodies(11)[0]


def test_a_commit_that_no_pull_request_brought_is_deployed_without_a_comment(
    runner: Runner, github: GitHub, repository: Repository
) -> None:
    run = well(runner.run("deploy.yml", "push", {"ref": "refs/heads/main"}, commit=repository.main))
    assert "no pull request was merged as" in run.jobs["deploy"]["Comment"].output
    assert github.comments == []


def test_a_review_stack_comes_with_the_label_has_an_end_and_goes_on_close(
    runner: Runner, github: GitHub, repository: Repository
) -> None:
    head = repository.commit("own stack", {"README.md": "own"}, repository.main)
    pull = github.open_pull(12, head, "own", fork=False)
    unlabelled = runner.run("review-stack.yml", "pull_request", event(pull, "synchronize", repository.main), commit=head)
    assert unlabelled.conclusion == "skipped"
    pull["labels"] = [{"name": "review-stack"}]
    labelled = event(pull, "labeled", repository.main, label={"name": "review-stack"})
    well(runner.run("review-stack.yml", "pull_request", labelled, commit=head))
    assert runner.commands() == [["up", "--stack", "pr-12"]]
    assert "`pr-12` of this pull request is deployed" in github.bodies(12)[0]
    assert "for 3 days" in github.bodies(12)[0]
    pull["state"] = "closed"
    well(runner.run("review-stack.yml", "pull_request", event(pull, "closed", repository.main), commit=head))
    assert runner.commands() == [["down", "--stack", "pr-12", "--yes"]]
    [body] = github.bodies(12)
    assert "`pr-12` of this pull request is destroyed" in body
    runner.played["down"] = {"code": 1}
    failed = runner.run("review-stack.yml", "pull_request", event(pull, "closed", repository.main), commit=head)
    assert failed.conclusion == "failure"
    assert "**not destroyed**" in github.bodies(12)[0]
    assert set(runner.environments) == {"review-stacks"}


def test_a_fork_and_somebody_else_s_label_get_no_stack(runner: Runner, github: GitHub, repository: Repository) -> None:
    pull = github.open_pull(13, repository.main, "own", fork=True, labels=("review-stack",))
    for action, label in (("labeled", "review-stack"), ("closed", ""), ("unlabeled", "review-stack")):
        happened = event(pull, action, repository.main, label={"name": label})
        assert runner.run("review-stack.yml", "pull_request", happened, commit=repository.main).conclusion == "skipped"
    own = github.open_pull(14, repository.main, "own", fork=False, labels=("review-stack",))
    other = event(own, "unlabeled", repository.main, label={"name": "documentation"})
    assert runner.run("review-stack.yml", "pull_request", other, commit=repository.main).conclusion == "skipped"
    assert runner.commands() == []


def test_drift_opens_updates_and_closes_an_issue(runner: Runner, github: GitHub, repository: Repository) -> None:
    def night(output: str, code: int) -> Run:
        runner.played["drift"] = {"output": output, "code": code}
        return runner.run("drift.yml", "schedule", {}, commit=repository.main)

    pull = github.open_pull(20, repository.main, "labelled", fork=False, labels=("drift",))
    by_hand = {"number": 21, "state": "open", "labels": [{"name": "drift"}], "user": {"login": "mallory"}}
    github.issues[21] = {**by_hand, "body": "<!-- azure-gpu-drift dev -->"}
    well(night("stack dev: no drift", 0))
    assert list(github.issues) == [21]
    well(night("pool (azure-native:batch:Pool): size: a in the state, b in Azure\n```\n@octo/team", 3))
    [issue] = [each for number, each in github.issues.items() if number != 21]
    assert (issue["state"], issue["title"]) == ("open", "Stack dev: Azure differs from its state")
    assert "````text\npool (azure-native:batch:Pool): size: a in the state, b in Azure\n```" in issue["body"]
    well(night("pool (azure-native:batch:Pool): size: a in the state, b in Azure\n```\n@octo/team", 3))
    assert github.bodies(issue["number"]) == []
    well(night("pool (azure-native:batch:Pool): size: a in the state, c in Azure", 3))
    assert "c in Azure" in issue["body"]
    assert ["The differences have changed" in body for body in github.bodies(issue["number"])] == [True]
    broken = night("error: nobody is signed in", 1)
    assert (broken.conclusion, issue["state"]) == ("failure", "open")
    well(night("stack dev: no drift", 0))
    assert (issue["state"], issue["state_reason"]) == ("closed", "completed")
    assert (pull["state"], github.issues[21]["state"]) == ("open", "open")
    well(night("pool: size", 3))
    assert len(github.issues) == 3  # another one, as the first is closed


def test_each_night_what_is_past_ends_and_review_stacks_that_were_left(
    runner: Runner, github: GitHub, repository: Repository, engine_bin: Path, tmp_path: Path
) -> None:
    backend = {
        **os.environ,
        "PATH": f"{engine_bin}{os.pathsep}{os.environ['PATH']}",
        "PULUMI_BACKEND_URL": runner.variables["PULUMI_BACKEND_URL"],
        "PULUMI_CONFIG_PASSPHRASE": "a passphrase",
    }
    (tmp_path / "Pulumi.yaml").write_text("name: azure-gpu\nruntime: python\n")
    for name in ("pr-30", "prod"):
        made = ["pulumi", "stack", "init", f"organization/azure-gpu/{name}", "--no-select", "--non-interactive"]
        subprocess.run(made, cwd=tmp_path, env=backend, check=True, capture_output=True)
    well(runner.run("end.yml", "schedule", {}, commit=repository.main))
    assert runner.commands() == [["end", "--past", "--stack", "dev", "--yes"]]
    runner.variables["REVIEW_STACK_DAYS"] = "0"
    well(runner.run("end.yml", "schedule", {}, commit=repository.main))
    assert runner.commands() == [["end", "--past", "--stack", "dev", "--yes"], ["down", "--stack", "pr-30", "--yes"]]
    assert set(runner.environments) == {"azure-end", "review-stacks"}


def test_until_azure_is_set_up_nothing_asks_it(runner: Runner, github: GitHub, repository: Repository) -> None:
    runner.variables.clear()
    pull = github.open_pull(40, repository.main, "b", fork=False, labels=("review-stack",))
    opened = event(pull, "reopened", repository.main)
    for workflow, name, happened in (
        ("review-live.yml", "pull_request", opened),
        ("review-stack.yml", "pull_request", opened),
        ("deploy.yml", "push", {}),
        ("drift.yml", "schedule", {}),
        ("end.yml", "schedule", {}),
    ):
        assert runner.run(workflow, name, happened, commit=repository.main).conclusion == "skipped", workflow


def test_tests_run_what_ci_runs(repository: Repository) -> None:
    """The one workflow that isn't walked through: it runs for an hour. Its lines are those of .ci/run."""
    lines = (CHECKOUT / ".ci" / "run").read_text()
    assert "make --no-print-directory lint" in lines
    assert "make --no-print-directory test ALL=1" in lines
    shown = repository.git("show", f"{repository.main}:.github/workflows/tests.yml")
    assert ("run: make lint" in shown, "run: make test ALL=1" in shown) == (True, True)
