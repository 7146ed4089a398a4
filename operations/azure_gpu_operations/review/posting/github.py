"""Writes what workflows of GitHub Actions post: a comment of a pull request, a check run with annotations, an issue of drift.

The pull request of a review is read from GitHub, by the head commit of the run, and never from the run's artifact.

Sources: GitHub Docs, REST API version 2022-11-28: "Workflow runs", "GitHub Actions artifacts", "Pull requests" (`head` is
`owner:branch`), "Issue comments", "Check runs" (50 annotations a request), "Commits" (pull requests of a commit), "Issues".
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from azure_gpu_operations.exit_codes import DRIFTED, OK
from azure_gpu_operations.review.posting import untrusted
from azure_gpu_operations.review.posting.api import Api, HostError
from azure_gpu_operations.review.posting.sections import with_section
from azure_gpu_operations.review.posting.untrusted import (
    ANNOTATIONS_FILE,
    COMMENT_FILE,
    MARKER,
    Annotation,
    UntrustedError,
    fenced,
    files_of,
)

AUTHOR = "github-actions[bot]"  # who comments with a workflow's own token
ARTIFACT = "review"
# The workflows whose artifacts are taken, and the section that each writes.
EMBEDDED, LIVE = "embedded", "live"
LANES = {".github/workflows/review.yml": EMBEDDED, ".github/workflows/review-live.yml": LIVE}
_AGAINST = {EMBEDDED: "the base commit, on an embedded Azure", LIVE: "the deployed state"}
_A_REQUEST = 50  # annotations of a check run
_ENDED = ("success", "failure", "timed_out")  # and not `skipped`, `cancelled` or `action_required`: it has run
_ROUNDS = 4  # of writing and looking
DRIFT_LABEL = "drift"
_MOST_DRIFT = 50_000


class Repository(NamedTuple):
    """A repository and its API client."""

    api: Api
    name: str  # owner/name
    author: str = AUTHOR

    def path(self, rest: str) -> str:
        return f"/repos/{self.name}{rest}"


def post_review(repository: Repository, run_id: int) -> str:
    """Writes the review that a run has left into the comment of its pull request. HostError."""
    run = repository.api.get(repository.path(f"/actions/runs/{run_id}"))
    lane = LANES.get(str(run["path"]).partition("@")[0])
    if lane is None or run["event"] != "pull_request":
        raise HostError(f"run {run_id} is of {run['path']} for {run['event']}, not a review of a pull request")
    if run["conclusion"] not in _ENDED:
        return f"nothing was written: the run is {run['conclusion'] or 'still running'}"
    if lane == LIVE and (run.get("head_repository") or {}).get("id") != run["repository"]["id"]:
        return "nothing was written: a fork's run has no access to the deployed state"
    pulls = list(_pulls_of(repository, run))
    if not pulls:
        return f"nothing was written: {run['head_sha'][:7]} is no longer the head of an open pull request"
    text, annotations = _read(repository, run, lane)
    for pull in pulls:
        put_section(repository, pull["number"], lane, text)
    if annotations:
        _annotate(repository, run, lane, annotations)
    return f"section {lane} of {_numbers(pulls)}, {len(annotations)} annotations"


def _numbers(pulls: Sequence[Any]) -> str:
    return ", ".join(f"#{pull['number']}" for pull in pulls)


def _pulls_of(repository: Repository, run: Any) -> Iterator[Any]:
    """Open pull requests whose head is the commit that the run had: `pull_requests` of a fork's run is empty."""
    head = run.get("head_repository")
    if not head:
        return
    for pull in repository.api.pages(
        repository.path("/pulls"), state="open", head=f"{head['owner']['login']}:{run['head_branch']}"
    ):
        source = pull["head"].get("repo") or {}
        if pull["head"]["sha"] == run["head_sha"] and source.get("id") == head["id"]:
            yield pull


def _read(repository: Repository, run: Any, lane: str) -> tuple[str, list[Annotation]]:
    """The section and the annotations. The section says what couldn't be read."""
    found, missing = dict[str, str](), list[str]()
    try:
        data = _artifact(repository, run["id"], ARTIFACT)
        if data is None:
            raise HostError("the run has no artifact")
        found = files_of(data, (COMMENT_FILE, ANNOTATIONS_FILE))
    except (UntrustedError, HostError) as error:
        missing.append(str(error))
    text, annotations = "", list[Annotation]()
    if not missing:
        try:
            if COMMENT_FILE not in found:
                raise UntrustedError(f"the artifact has no {COMMENT_FILE}")
            text = untrusted.comment_of(found[COMMENT_FILE])
        except UntrustedError as error:
            missing.append(str(error))
        try:
            annotations = untrusted.annotations_of(found.get(ANNOTATIONS_FILE, "[]"))
        except UntrustedError as error:
            missing.append(str(error))
    about = (
        f"<sub>Review of {run['head_sha'][:7]} against {_AGAINST[lane]}, as [its own run]({run['html_url']}) wrote it; "
        f"that run ended with {run['conclusion']}.</sub>"
    )
    entries = [f"**The review is incomplete**: {each}." for each in missing]
    return "\n\n".join([about, *entries, *([text] if text else [])]), annotations


def _artifact(repository: Repository, run_id: int, name: str) -> bytes | None:
    """The newest artifact of a run with this name; None where there is none, or it has expired."""
    pages = repository.api.pages(repository.path(f"/actions/runs/{run_id}/artifacts"), "artifacts", name=name)
    mine = [each["id"] for each in pages if each["name"] == name and not each["expired"]]
    return repository.api.download(repository.path(f"/actions/artifacts/{max(mine)}/zip")) if mine else None


def put_section(repository: Repository, number: int, name: str, text: str) -> None:
    """Writes a section of the pull request's one comment. HostError.

    It looks again afterwards: two workflows that end at the same time may each have made the comment, or have written over the
    other's section.
    """
    made: int | None = None
    for _ in range(_ROUNDS):
        mine = own_comment(repository, number)
        body = with_section(str(mine["body"] or "") if mine else "", name, text)
        if (body == mine["body"]) if mine else not text:
            break
        if mine:
            repository.api.send("PATCH", repository.path(f"/issues/comments/{mine['id']}"), {"body": body})
        else:
            made = repository.api.send("POST", repository.path(f"/issues/{number}/comments"), {"body": body})["id"]
    if made is not None and (mine := own_comment(repository, number)) and mine["id"] != made:
        repository.api.send("DELETE", repository.path(f"/issues/comments/{made}"), {})


def own_comment(repository: Repository, number: int) -> Any | None:
    """The oldest comment that begins with the marker and that a workflow wrote: anybody can write a marker."""
    for comment in repository.api.pages(repository.path(f"/issues/{number}/comments")):
        if str(comment["body"] or "").startswith(MARKER) and (comment["user"] or {}).get("login") == repository.author:
            return comment
    return None


def _annotate(repository: Repository, run: Any, lane: str, annotations: Sequence[Annotation]) -> None:
    """A check run of the commit. Always neutral: the author of a pull request controls its content."""
    entries = [
        {
            "path": each.path,
            "start_line": each.line,
            "end_line": each.line,
            "annotation_level": each.level,
            "title": each.title,
            "message": each.message,
        }
        for each in annotations
    ]
    output = {"title": f"{len(entries)} remarks", "summary": f"As [the review's own run]({run['html_url']}) wrote them."}
    made = repository.api.send(
        "POST",
        repository.path("/check-runs"),
        {
            "name": f"review: {lane}",
            "head_sha": run["head_sha"],
            "status": "completed",
            "conclusion": "neutral",
            "output": {**output, "annotations": entries[:_A_REQUEST]},
        },
    )
    for begin in range(_A_REQUEST, len(entries), _A_REQUEST):
        more = {"output": {**output, "annotations": entries[begin : begin + _A_REQUEST]}}
        repository.api.send("PATCH", repository.path(f"/check-runs/{made['id']}"), more)


def post_result(repository: Repository, commit: str, name: str, text: str) -> str:
    """Writes a section into the comment of the pull request that a commit of the main branch was merged by. HostError."""
    pulls = list(repository.api.pages(repository.path(f"/commits/{commit}/pulls")))
    merged = [pull for pull in pulls if pull.get("merged_at")]
    mine = [pull for pull in merged if pull.get("merge_commit_sha") == commit] or merged[:1]
    for pull in mine:
        put_section(repository, pull["number"], name, text)
    return f"section {name} of {_numbers(mine)}" if mine else f"no pull request was merged as {commit[:7]}: nothing was written"


def download(repository: Repository, run_id: int, artifact: str, file: str) -> str:
    """A file of an artifact that this workflow has left in an earlier job of the same run. HostError."""
    data = _artifact(repository, run_id, artifact)
    if data is None:
        raise HostError(f"run {run_id} has no artifact {artifact}, or it has expired; run all jobs of the workflow again")
    try:
        found = files_of(data, (file,), 64 * untrusted.MOST_BYTES)
    except UntrustedError as error:
        raise HostError(str(error)) from None
    if file not in found:
        raise HostError(f"artifact {artifact} has no {file}")
    return found[file]


def report_drift(repository: Repository, stack: str, code: int, entries: str, run_url: str) -> str:
    """Opens, updates or closes the issue of a stack by what `operations drift` has ended with. HostError."""
    if code not in (DRIFTED, OK):
        raise HostError(f"`drift` ended with exit code {code}; no issue was changed")
    mine = _drift_issue(repository, stack)
    if code == OK:
        if mine is None:
            return f"stack {stack}: no drift"
        _comment(repository, mine, f"Stack {stack} has no drift any more: [run]({run_url}).")
        closing = {"state": "closed", "state_reason": "completed"}
        repository.api.send("PATCH", repository.path(f"/issues/{mine['number']}"), closing)
        return f"closed #{mine['number']}"
    digest = hashlib.sha256(entries.encode()).hexdigest()[:16]
    body = "\n\n".join(
        [
            f"{_drift_mark(stack)}\n<!-- {digest} -->",
            f"Stack `{stack}` has drifted from its state: [last run]({run_url}).",
            fenced(entries, _MOST_DRIFT),
            "The next run without a difference closes this issue.",
        ]
    )
    if mine is None:
        opened = {"title": f"Stack {stack}: Azure differs from its state", "body": body, "labels": [DRIFT_LABEL]}
        return f"opened #{repository.api.send('POST', repository.path('/issues'), opened)['number']}"
    repository.api.send("PATCH", repository.path(f"/issues/{mine['number']}"), {"body": body})
    if f"<!-- {digest} -->" not in mine["body"]:
        _comment(repository, mine, f"The differences have changed, see above: [run]({run_url}).")
    return f"updated #{mine['number']}"


def _drift_mark(stack: str) -> str:
    return f"<!-- azure-gpu-drift {stack} -->"


def _drift_issue(repository: Repository, stack: str) -> Any | None:
    for issue in repository.api.pages(repository.path("/issues"), state="open", labels=DRIFT_LABEL):
        if "pull_request" in issue or (issue["user"] or {}).get("login") != repository.author:
            continue
        if re.match(re.escape(_drift_mark(stack)), str(issue["body"] or "")):
            return issue
    return None


def _comment(repository: Repository, issue: Any, text: str) -> None:
    repository.api.send("POST", repository.path(f"/issues/{issue['number']}/comments"), {"body": text})
