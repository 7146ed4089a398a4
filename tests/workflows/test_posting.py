"""What is written to GitHub, GitLab and Azure DevOps, against stand-ins: which comment, of which request, by whom."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations.exit_codes import DRIFTED, STALE_PLAN
from azure_gpu_operations.review.posting import __main__ as command, github as posting, results, sections
from azure_gpu_operations.review.posting.api import Api, HostError
from azure_gpu_operations.review.posting.github import Repository
from azure_gpu_operations.review.posting.sign_in import sign_in
from azure_gpu_operations.review.posting.untrusted import MARKER
from tests.support.embedded import CHECKOUT
from tests.workflows.hosting import BOT, NAME, RUNNER, GitHub, RefusedError, answering
from tests.workflows.other_hosting import AzureDevOps, GitLab

HEAD, OTHER = "a" * 40, "b" * 40
REVIEW = ".github/workflows/review.yml"
ALL: dict[str, str] = dict.fromkeys(("actions", "checks", "pull-requests", "issues"), "write")


@pytest.fixture
def github() -> Iterator[GitHub]:
    hosting = GitHub()
    with answering(hosting):
        yield hosting


def repository(github: GitHub, permissions: Mapping[str, str] = ALL) -> Repository:
    signed_in = {"Authorization": f"Bearer {github.token(permissions)}"}
    return Repository(Api(github.url, signed_in, pauses=()), NAME)


def reviewed(github: GitHub, pull: dict[str, Any], files: Mapping[str, str | bytes], *, event: str = "pull_request") -> int:
    run = github.begin_run(REVIEW, event, pull, pull["head"]["sha"])
    run["conclusion"] = "success"
    github.leave(run["id"], "review", files)
    return run["id"]


def comment(text: str) -> dict[str, str]:
    return {"comment.md": f"{MARKER}\n{text}"}


# Which pull request


def test_the_pull_request_is_the_one_whose_head_the_run_had(github: GitHub) -> None:
    """The artifact names another, and so do branches of the same name."""
    own = github.open_pull(1, HEAD, "patch", fork=False)
    forked = github.open_pull(2, HEAD, "patch", fork=True)
    github.open_pull(3, OTHER, "patch", fork=True)
    run = reviewed(github, forked, {**comment("PR #1"), "pull_request_number": "1", "pr.txt": "1"})
    posting.post_review(repository(github), run)
    assert [len(github.bodies(number)) for number in (1, 2, 3)] == [0, 1, 0]
    posting.post_review(repository(github), reviewed(github, own, comment("own")))
    assert [len(github.bodies(number)) for number in (1, 2, 3)] == [1, 1, 0]


def test_a_closed_one_another_commit_and_a_fork_that_is_gone_get_nothing(github: GitHub) -> None:
    pull = github.open_pull(1, HEAD, "patch", fork=True)
    run = reviewed(github, pull, comment("late"))
    pull["state"] = "closed"
    assert "nothing was written" in posting.post_review(repository(github), run)
    pull["state"] = "open"
    pull["head"]["sha"] = OTHER
    assert "nothing was written" in posting.post_review(repository(github), run)
    pull["head"]["sha"] = HEAD
    github.runs[run]["head_repository"] = None
    assert "nothing was written" in posting.post_review(repository(github), run)
    assert (github.comments, github.check_runs) == ([], {})


def test_a_fork_that_says_what_is_deployed_is_not_believed(github: GitHub) -> None:
    """Its pull request may change `review-live.yml`, so that it runs there without Azure."""
    for number, fork in ((1, True), (2, False)):
        pull = github.open_pull(number, HEAD, f"patch-{number}", fork=fork)
        run = reviewed(github, pull, comment("nothing of what is deployed changes"))
        github.runs[run]["path"] = ".github/workflows/review-live.yml"
        posting.post_review(repository(github), run)
    assert [len(github.bodies(number)) for number in (1, 2)] == [0, 1]


@pytest.mark.parametrize("conclusion", ["skipped", "cancelled", "action_required", None])
def test_a_run_that_has_not_run_writes_nothing(github: GitHub, conclusion: str | None) -> None:
    """`review-live` of a fork is skipped, a fork's first run waits for an approval."""
    run = reviewed(github, github.open_pull(1, HEAD, "patch", fork=True), comment("text"))
    github.runs[run]["conclusion"] = conclusion
    assert "nothing was written" in posting.post_review(repository(github), run)
    assert github.comments == []


@pytest.mark.parametrize(("path", "event"), [(".github/workflows/tests.yml", "pull_request"), (REVIEW, "push")])
def test_a_run_that_reviews_nothing_is_refused(github: GitHub, path: str, event: str) -> None:
    pull = github.open_pull(1, HEAD, "patch", fork=True)
    run = reviewed(github, pull, comment("text"), event=event)
    github.runs[run]["path"] = path
    with pytest.raises(HostError, match="not a review of a pull request"):
        posting.post_review(repository(github), run)
    assert github.comments == []


# Which comment


def test_the_comment_is_found_by_marker_and_author_on_any_page(github: GitHub) -> None:
    pull = github.open_pull(1, HEAD, "patch", fork=True)
    for number in range(130):
        github.say(1, f"user-{number}", "text")
    github.say(1, "mallory", f"{MARKER}\nmine")
    github.comments.append({"id": 9, "issue": 1, "body": "another bot's", "user": BOT})
    github.comments.append({"id": 10, "issue": 1, "body": MARKER, "user": {"login": "dependabot[bot]"}})
    for text in ("first", "second"):
        posting.post_review(repository(github), reviewed(github, pull, comment(text)))
    mine = [each for each in github.comments if each["body"].startswith(MARKER) and each["user"] == BOT]
    assert ["second" in each["body"] for each in mine] == [True]
    assert len(github.comments) == 134


def test_two_workflows_at_the_same_time_leave_one_comment_with_both_sections(github: GitHub) -> None:
    github.open_pull(1, HEAD, "patch", fork=False)
    mine = repository(github)

    class Second(Api):
        """Another workflow writes between the look and the comment."""

        begun = False

        def send(self, method: str, path: str, body: Mapping[str, Any], **query: str | int) -> Any:
            if not Second.begun:
                Second.begun = True
                posting.put_section(mine, 1, "live", "by the state")
            return super().send(method, path, body, **query)

    token = github.token(ALL)
    second = Repository(Second(github.url, {"Authorization": f"Bearer {token}"}, pauses=()), NAME)
    posting.put_section(second, 1, "embedded", "by the embedded Azure")
    [body] = github.bodies(1)
    assert body.index("by the state") < body.index("by the embedded Azure")


def test_the_same_text_is_not_written_again(github: GitHub) -> None:
    github.open_pull(1, HEAD, "patch", fork=False)
    for _ in range(2):
        posting.put_section(repository(github), 1, "live", "text")
    assert [request.split()[0] for request in github.requests if not request.startswith("GET")] == ["POST"]


# What the artifact may be


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"review.json": "{}"}, "the artifact has no comment.md"),
        ({"comment.md": "# no marker"}, "doesn't begin with the marker"),
        ({"comment.md": f"{MARKER}\n" + "x" * 70_000}, "more than 60,000 characters"),
        ({"comment.md": b"\0" * 5_000_000}, "more than 4,194,304 bytes"),
        ({"comment.md": b"\xff"}, "isn't UTF-8"),
        ({**comment("text"), "annotations.json": "{"}, "annotations.json isn't JSON"),
    ],
)
def test_what_an_artifact_lacks_is_said_in_the_comment(github: GitHub, files: Mapping[str, str | bytes], told: str) -> None:
    pull = github.open_pull(1, HEAD, "patch", fork=True)
    posting.post_review(repository(github), reviewed(github, pull, files))
    [body] = github.bodies(1)
    assert f"**The review is incomplete**: {told}" in body or told in body
    assert len(body) < 65_536


def test_an_artifact_that_is_no_archive_or_has_expired_is_said_too(github: GitHub) -> None:
    pull = github.open_pull(1, HEAD, "patch", fork=True)
    run = reviewed(github, pull, comment("text"))
    github.artifacts[0]["data"] = b"PK\x03\x04 nothing"
    posting.post_review(repository(github), run)
    assert "isn't a readable zip archive" in github.bodies(1)[0]
    github.artifacts[0]["expired"] = True
    posting.post_review(repository(github), run)
    assert "the run has no artifact" in github.bodies(1)[0]


def test_a_review_of_a_run_that_failed_is_posted_with_how_it_ended(github: GitHub) -> None:
    run = reviewed(github, github.open_pull(1, HEAD, "patch", fork=True), comment("the file is rejected"))
    github.runs[run]["conclusion"] = "failure"
    posting.post_review(repository(github), run)
    [body] = github.bodies(1)
    assert ("the file is rejected" in body, "that run ended with failure" in body) == (True, True)


def test_more_bytes_than_an_answer_may_have_are_not_read(github: GitHub) -> None:
    pull = github.open_pull(1, HEAD, "patch", fork=True)
    run = reviewed(github, pull, comment("text"))
    github.artifacts[0]["data"] = b"\0" * 17_000_000
    posting.post_review(repository(github), run)
    assert "answers more than 16,777,216 bytes" in github.bodies(1)[0]


def test_the_newest_artifact_of_a_run_that_ran_again_is_taken(github: GitHub) -> None:
    pull = github.open_pull(1, HEAD, "patch", fork=True)
    run = reviewed(github, pull, comment("first attempt"))
    github.leave(run, "review", comment("second attempt"))
    posting.post_review(repository(github), run)
    assert "second attempt" in github.bodies(1)[0]


def test_a_hostile_text_notifies_nobody_and_stays_in_its_section(github: GitHub) -> None:
    pull = github.open_pull(1, HEAD, "patch", fork=True)
    text = "@octo/team <img src=x> #1\n<!-- end of azure-gpu-section -->\n<!-- azure-gpu-section deploy-prod -->\ndeployed\n```\n"
    posting.post_review(repository(github), reviewed(github, pull, comment(text)))
    [body] = github.bodies(1)
    assert not re.search(r"@octo|<img|(?<!Review of )#1", body)
    posting.put_section(repository(github), 1, "deploy-dev", "planned")
    [body] = github.bodies(1)
    assert re.findall(r"<!-- azure-gpu-section (\S+) -->", body) == ["deploy-dev", "embedded"]


def test_remarks_are_written_fifty_at_a_time_to_the_commit(github: GitHub) -> None:
    pull = github.open_pull(1, HEAD, "patch", fork=True)
    told = [
        {"file": "Pulumi.dev.yaml", "line": line, "level": "warning", "title": "t", "message": "@octo/team"}
        for line in range(1, 121)
    ]
    posting.post_review(repository(github), reviewed(github, pull, {**comment("text"), "annotations.json": json.dumps(told)}))
    [check] = github.check_runs.values()
    assert [each["start_line"] for each in check["output"]["annotations"]] == list(range(1, 121))
    assert (check["head_sha"], check["conclusion"]) == (HEAD, "neutral")


# Permissions, results, plans


def test_a_token_that_may_not_is_a_line(github: GitHub) -> None:
    github.open_pull(1, HEAD, "patch", fork=False)
    with pytest.raises(HostError, match=r"POST /repos/octo/gpu/issues/1/comments answers 403: Resource not accessible"):
        posting.put_section(repository(github, {"pull-requests": "read"}), 1, "live", "text")


def test_a_result_goes_to_the_pull_request_that_the_commit_merged(github: GitHub) -> None:
    for number in (1, 2, 3):
        pull = github.open_pull(number, OTHER, f"branch-{number}", fork=False)
        pull |= {"state": "closed", "merged_at": "2026-11-25T00:00:00Z" if number > 1 else None, "merge_commit_sha": OTHER}
    github.pulls[3]["merge_commit_sha"] = HEAD
    github.merged[HEAD] = [1, 2, 3]  # it has been in all three
    assert posting.post_result(repository(github), HEAD, "deploy-dev", "text") == "section deploy-dev of #3"
    assert "no pull request was merged" in posting.post_result(repository(github), "c" * 40, "deploy-dev", "text")


def test_a_plan_is_fetched_from_its_own_run(github: GitHub) -> None:
    run = github.begin_run(".github/workflows/deploy.yml", "push", None, HEAD)["id"]
    with pytest.raises(HostError, match="has no artifact plan-dev"):
        posting.download(repository(github), run, "plan-dev", "plan.json")
    github.leave(run, "plan-dev", {"plan.json": "{}"})
    assert posting.download(repository(github), run, "plan-dev", "plan.json") == "{}"
    with pytest.raises(HostError, match=r"plan-dev has no other\.json"):
        posting.download(repository(github), run, "plan-dev", "other.json")


def test_how_a_deployment_ended_is_worded_by_its_exit_code() -> None:
    told = [results.of_deployment("prod", HEAD, code, "```\nlog", "https://run").splitlines()[0] for code in (0, STALE_PLAN, 1)]
    assert told == [
        "Stack `prod`: deployed as planned (`aaaaaaa`, [run](https://run)).",
        "Stack `prod`: **not deployed**: its state has changed since the plan was made; run all jobs of the workflow again "
        "(`aaaaaaa`, [run](https://run)).",
        "Stack `prod`: **the deployment failed** (`aaaaaaa`, [run](https://run)).",
    ]


def test_the_commands_write_a_plan_its_deployment_and_the_stack_of_a_pull_request(github: GitHub, tmp_path: Path) -> None:
    pull = github.open_pull(3, HEAD, "feature", fork=False)
    pull |= {"state": "closed", "merged_at": "2026-11-25T00:00:00Z", "merge_commit_sha": HEAD}
    github.merged[HEAD] = [3]
    (tmp_path / "log.txt").write_text("the log's end")
    environment = {
        "GITHUB_API_URL": github.url,
        "GITHUB_REPOSITORY": NAME,
        "GITHUB_TOKEN": github.token(ALL),
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_RUN_ID": "9",
    }

    def written(*words: str) -> str:
        assert command.main(words, environment) == 0
        [body] = github.bodies(3)
        return body

    result = ("--commit", HEAD, "--stack", "dev", "--file", str(tmp_path / "log.txt"), "--code")
    planned = written("planned", *result, "0")
    assert "Stack `dev`: planned, waiting for the approval of environment `dev`" in planned
    assert "the log's end" in planned
    assert "Stack `dev`: no plan, nothing was deployed" in written("planned", *result, "1")
    deployed = written("deployed", *result, "0")
    assert ("deployed as planned" in deployed, "no plan" in deployed) == (True, False)
    for up, down, told in (
        ("success", "skipped", "is deployed ([run](https://github.com/octo/gpu/actions/runs/9)): for 3 days"),
        ("failure", "skipped", "**deployment failed**"),
        ("skipped", "success", "is destroyed"),
        ("skipped", "failure", "**not destroyed**"),
    ):
        assert told in written("own-stack", "--pull", "3", "--up", up, "--down", down, "--days", "3")


def test_drift_opens_updates_and_closes_an_issue_of_its_own(github: GitHub) -> None:
    mine = repository(github)
    pull = github.open_pull(20, HEAD, "labelled", fork=False, labels=("drift",))
    by_hand = {"number": 21, "state": "open", "labels": [{"name": "drift"}], "user": {"login": "mallory"}}
    github.issues[21] = {**by_hand, "body": "<!-- azure-gpu-drift dev -->"}

    def night(code: int, output: str) -> str:
        return posting.report_drift(mine, "dev", code, output, "https://run").split()[0]

    assert night(0, "") == "stack"
    assert night(DRIFTED, "pool: size: a in the state, b in Azure\n```\n@octo/team") == "opened"
    [issue] = [each for number, each in github.issues.items() if number != 21]
    assert (issue["state"], issue["title"]) == ("open", "Stack dev: Azure differs from its state")
    assert "````text\npool: size: a in the state, b in Azure\n```" in issue["body"]
    assert night(DRIFTED, "pool: size: a in the state, b in Azure\n```\n@octo/team") == "updated"
    assert github.bodies(issue["number"]) == []
    assert night(DRIFTED, "pool: size: a in the state, c in Azure") == "updated"
    assert "c in Azure" in issue["body"]
    assert ["The differences have changed" in body for body in github.bodies(issue["number"])] == [True]
    assert night(0, "") == "closed"
    assert (issue["state"], issue["state_reason"]) == ("closed", "completed")
    assert (pull["state"], github.issues[21]["state"]) == ("open", "open")
    assert night(DRIFTED, "pool: size") == "opened"  # another one, as the first is closed
    assert len(github.issues) == 3


def test_drift_that_could_not_be_read_changes_no_issue(github: GitHub) -> None:
    mine = repository(github)
    posting.report_drift(mine, "dev", DRIFTED, "pool: size", "https://run")
    with pytest.raises(HostError, match="no issue was changed"):
        posting.report_drift(mine, "dev", 1, "error", "https://run")
    [issue] = github.issues.values()
    assert (issue["state"], "pool: size" in issue["body"]) == ("open", True)


# Sections


def test_sections_are_in_order_and_replace_themselves() -> None:
    body = ""
    for name, text in (
        ("embedded", "e"),
        ("deploy-prod", "p"),
        ("live", "l"),
        ("deploy-dev", "d"),
        ("stack", "s"),
        ("live", "m"),
    ):
        body = sections.with_section(body, name, text)
    assert body.startswith(f"{MARKER}\n\n<!-- azure-gpu-section deploy-dev -->\nd\n")
    assert re.findall(r"<!-- azure-gpu-section (\S+) -->\n(.)", body) == [
        ("deploy-dev", "d"),
        ("deploy-prod", "p"),
        ("stack", "s"),
        ("live", "m"),
        ("embedded", "e"),
    ]
    assert "azure-gpu-section stack" not in sections.with_section(body, "stack", "")


def test_two_long_sections_are_cut_at_their_ends_until_both_fit() -> None:
    long = "\n".join(f"line {number} of a review" for number in range(2_400))
    body = sections.with_section(sections.with_section("", "embedded", long), "live", f"<details>\n\n{long}\n\n</details>")
    body = sections.with_section(body, "deploy-dev", "deployed as planned")
    assert len(body) <= sections.MOST
    assert (body.count("Cut here"), "deployed as planned" in body) == (2, True)
    assert body.count("<details>") == body.count("</details>") == 1
    assert all("line 900 of a review" in part for part in body.split("section embedded"))


def test_a_wrong_name_of_a_section_is_refused() -> None:
    with pytest.raises(ValueError, match="isn't a valid section name"):
        sections.with_section("", "a -->", "text")


# The command


@pytest.mark.slow  # a Python of its own
def test_it_runs_without_any_package(tmp_path: Path) -> None:
    """A workflow that holds a token installs nothing: `-I -S` leaves packages and the user's folder out."""
    code = f"import sys, runpy; sys.path.insert(0, {str(CHECKOUT / 'operations')!r}); sys.argv[1:] = ['--help']; "
    code += "runpy.run_module('azure_gpu_operations.review.posting', run_name='__main__')"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_goes_wrong_is_one_line(github: GitHub, capsys: pytest.CaptureFixture[str]) -> None:
    environment = {"GITHUB_API_URL": github.url, "GITHUB_REPOSITORY": NAME, "GITHUB_TOKEN": "unknown"}
    for given, told in (
        (environment, "error: GET /repos/octo/gpu/actions/runs/1 answers 401: Bad credentials\n"),
        ({}, "error: GITHUB_TOKEN isn't set; the runner or the workflow sets it\n"),
        (
            {**environment, "GITHUB_API_URL": "file:///etc"},
            "error: 'file:///etc' isn't a valid API address; the runner sets it\n",
        ),
    ):
        assert command.main(["review", "--run", "1"], given) == 1
        assert capsys.readouterr().err == told


def test_a_job_signs_in_by_its_own_token(github: GitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environment = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{github.url}/oidc?api-version=2.0",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": RUNNER,
        "ARM_CLIENT_ID": "client",
        "ARM_TENANT_ID": "tenant",
        "ARM_SUBSCRIPTION_ID": "subscription",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_ENV": str(tmp_path / "env"),
    }
    assert sign_in(environment) == "signed in as client"
    file = tmp_path / "azure-federated-token"
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("header.payload.signature", 0o600)
    assert (tmp_path / "env").read_text().splitlines() == [
        "AZURE_CLIENT_ID=client",
        "AZURE_TENANT_ID=tenant",
        f"AZURE_FEDERATED_TOKEN_FILE={file}",
        "ARM_USE_OIDC=true",
    ]
    assert capsys.readouterr().out == "::add-mask::header.payload.signature\n"
    with pytest.raises(HostError, match="not set: ARM_TENANT_ID"):
        sign_in({**environment, "ARM_TENANT_ID": ""})
    with pytest.raises(HostError, match="id-token: write"):
        sign_in({})


# The other services


def review_in(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "comment.md").write_text(f"{MARKER}\n{text}")
    return folder


def test_gitlab_has_one_note_of_the_token_s_own(tmp_path: Path) -> None:
    hosting = GitLab()
    with answering(hosting):
        environment = {
            "CI_API_V4_URL": hosting.url,
            "CI_PROJECT_ID": "9",
            "CI_MERGE_REQUEST_IID": "5",
            "GITLAB_TOKEN": "secret",
        }
        for text in ("first", "second @all\n/approve"):
            assert command.main(["gitlab", str(review_in(tmp_path / "review", text))], environment) == 0
    assert [note["body"] for note in hosting.notes] == [
        f"{MARKER}\nI am the review",
        f"{MARKER}\nsecond @\u200ball\n\u200b/approve",
    ]


def test_azure_devops_has_one_thread_of_the_build_s_own(tmp_path: Path) -> None:
    hosting = AzureDevOps()
    with answering(hosting):
        environment = {
            "SYSTEM_COLLECTIONURI": f"{hosting.url}/",
            "SYSTEM_TEAMPROJECTID": "project",
            "BUILD_REPOSITORY_ID": "repo",
            "SYSTEM_PULLREQUEST_PULLREQUESTID": "5",
            "SYSTEM_ACCESSTOKEN": "secret",
        }
        for text in ("first", "second"):
            assert command.main(["azure-devops", str(review_in(tmp_path / "review", text))], environment) == 0
    assert [[each["content"] for each in thread["comments"]] for thread in hosting.threads] == [
        [f"{MARKER}\nI am the review"],
        [],
        [f"{MARKER}\nsecond"],
    ]


# A service that fails


class Failing:
    """It answers after so many failures, one of them of the connection."""

    def __init__(self, failures: int) -> None:
        self.url, self.failures, self.methods = "", failures, list[str]()

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any, token: str) -> Any:
        self.methods.append(method)
        if len(self.methods) <= self.failures:
            if len(self.methods) == 2:
                raise OSError("the connection was reset")
            raise RefusedError(502, "Bad gateway")
        return {}


def test_a_question_is_asked_again_and_a_change_isn_t() -> None:
    failing = Failing(2)
    with answering(failing):
        api = Api(failing.url, {}, pauses=(0, 0))
        assert api.get("/x") == {}
        failing.methods.clear()
        with pytest.raises(HostError, match="POST /x answers 502: Bad gateway"):
            api.send("POST", "/x", {})
        assert failing.methods == ["POST"]
        with pytest.raises(HostError, match="GET /x fails: the connection was reset"):
            Api(failing.url, {}, pauses=()).get("/x")
