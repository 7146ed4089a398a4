"""A stand-in for GitHub: as much of its REST API as the workflows call, in this process, with pages and permissions.

It answers as GitHub Docs describe it (REST API, version 2022-11-28): lists have 30 items a page, at most 100, and a header
`Link`; a token without the permission gets 403 "Resource not accessible by integration", a body that is too long 422; an
artifact's archive is a redirect to a storage service, which refuses a request with a header `Authorization`; a check run takes 50
annotations at a time.
"""

import io
import json
import re
import urllib.request
import urllib.response
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http import HTTPStatus
from typing import Any, NamedTuple
from unittest import mock
from urllib.parse import parse_qs, urlsplit

NAME, OWNER, OWN_ID = "octo/gpu", "octo", 1
FORK, FORK_OWNER, FORK_ID = "mallory/gpu", "mallory", 2
BOT = {"login": "github-actions[bot]", "type": "Bot"}
RUNNER = "runner"  # the token by which a job asks for its OpenID Connect token
JWT = "header.payload.signature"
MOST_BODY = 65_536


class RefusedError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Page(NamedTuple):
    items: list[Any]
    key: str = ""


class Redirect(NamedTuple):
    path: str


class GitHub:
    """What GitHub knows. Tests read and change the fields."""

    def __init__(self) -> None:
        self.pulls: dict[int, dict[str, Any]] = {}
        self.issues: dict[int, dict[str, Any]] = {}
        self.comments: list[dict[str, Any]] = []
        self.runs: dict[int, dict[str, Any]] = {}
        self.artifacts: list[dict[str, Any]] = []
        self.check_runs: dict[int, dict[str, Any]] = {}
        self.merged: dict[str, list[int]] = {}  # pull requests by the commit that merged them
        self.tokens: dict[str, Mapping[str, str]] = {}  # permissions
        self.requests: list[str] = []
        self.url = ""
        self._next = 100

    def number(self) -> int:
        self._next += 1
        return self._next

    def token(self, permissions: Mapping[str, str]) -> str:
        name = f"token-{self.number()}"
        self.tokens[name] = permissions
        return name

    def open_pull(self, number: int, sha: str, branch: str, *, fork: bool, labels: tuple[str, ...] = ()) -> dict[str, Any]:
        repository = _repository(fork)
        self.pulls[number] = {
            "number": number,
            "state": "open",
            "labels": [{"name": label} for label in labels],
            "user": {"login": FORK_OWNER if fork else OWNER},
            "head": {"sha": sha, "ref": branch, "label": f"{repository['owner']['login']}:{branch}", "repo": repository},
            "base": {"sha": "", "ref": "main", "repo": _repository(fork=False)},
            "merged_at": None,
            "merge_commit_sha": None,
        }
        return self.pulls[number]

    def begin_run(self, path: str, event: str, pull: Mapping[str, Any] | None, sha: str) -> dict[str, Any]:
        number = self.number()
        head = pull["head"]["repo"] if pull else _repository(fork=False)
        self.runs[number] = {
            "id": number,
            "path": path,
            "event": event,
            "status": "in_progress",
            "conclusion": None,
            "head_sha": sha,
            "head_branch": pull["head"]["ref"] if pull else "main",
            "head_repository": head,
            "repository": _repository(fork=False),
            "pull_requests": [],  # of a fork's run it is empty, and nobody may rely on it
            "html_url": f"https://github.com/{NAME}/actions/runs/{number}",
        }
        return self.runs[number]

    def leave(self, run: int, name: str, files: Mapping[str, str | bytes]) -> None:
        """An artifact of a run."""
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, content in files.items():
                archive.writestr(path, content)
        data = written.getvalue()
        self.artifacts.append(
            {"id": self.number(), "name": name, "size_in_bytes": len(data), "expired": False, "run": run, "data": data}
        )

    def bodies(self, number: int) -> list[str]:
        return [each["body"] for each in self.comments if each["issue"] == number]

    def say(self, number: int, login: str, body: str) -> dict[str, Any]:
        comment = {"id": self.number(), "issue": number, "body": body, "user": {"login": login, "type": "User"}}
        self.comments.append(comment)
        return comment

    # What it answers

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any, token: str) -> Any:
        self.requests.append(f"{method} {path}")
        if path == "/oidc":
            if token != RUNNER:
                raise RefusedError(401, "Bad credentials")
            return {"value": JWT} if query.get("audience") == "api://AzureADTokenExchange" else {"value": "another"}
        if token not in self.tokens:
            raise RefusedError(401, "Bad credentials")
        for pattern, needs, does in _ROUTES:
            found = re.fullmatch(rf"{method} /repos/{re.escape(NAME)}{pattern}", f"{method} {path}")
            if found and pattern.partition(" ")[0] and does.__name__.startswith(f"_{method.lower()}"):
                if not any(self._may(token, need) for need in needs):
                    raise RefusedError(403, "Resource not accessible by integration")
                return does(self, *found.groups(), query=query, body=body)
        raise RefusedError(404, "Not Found")

    def _may(self, token: str, need: str) -> bool:
        scope, _, level = need.partition(":")
        has = self.tokens[token].get(scope, "none")
        return has == "write" or has == level

    def _get_run(self, number: str, **_: Any) -> Any:
        return _found(self.runs, number)

    def _get_artifacts(self, number: str, query: Mapping[str, str], **_: Any) -> Any:
        mine = [each for each in self.artifacts if each["run"] == int(number) and query.get("name", each["name"]) == each["name"]]
        return Page([{key: value for key, value in each.items() if key not in ("data", "run")} for each in mine], "artifacts")

    def _get_archive(self, number: str, **_: Any) -> Any:
        return Redirect(f"/storage/{number}")

    def _get_pulls(self, query: Mapping[str, str], **_: Any) -> Any:
        state, head = query.get("state", "open"), query.get("head", "")
        mine = [each for each in self.pulls.values() if state in (each["state"], "all")]
        # A filter without `owner:` is none.
        return Page([each for each in mine if ":" not in head or each["head"]["label"] == head])

    def _get_pull(self, number: str, **_: Any) -> Any:
        return _found(self.pulls, number)

    def _get_pulls_of_commit(self, sha: str, **_: Any) -> Any:
        return Page([self.pulls[number] for number in self.merged.get(sha, ())])

    def _get_comments(self, number: str, **_: Any) -> Any:
        return Page([each for each in self.comments if each["issue"] == int(number)])

    def _post_comments(self, number: str, body: Any, **_: Any) -> Any:
        if int(number) not in self.pulls and int(number) not in self.issues:
            raise RefusedError(404, "Not Found")
        comment = {"id": self.number(), "issue": int(number), "body": _text(body), "user": BOT}
        self.comments.append(comment)
        return comment

    def _patch_comment(self, number: str, body: Any, **_: Any) -> Any:
        comment = _found({each["id"]: each for each in self.comments}, number)
        comment["body"] = _text(body)
        return comment

    def _delete_comment(self, number: str, **_: Any) -> Any:
        self.comments.remove(_found({each["id"]: each for each in self.comments}, number))

    def _post_check_run(self, body: Any, **_: Any) -> Any:
        _annotations(body)
        run = {"id": self.number(), **body}
        self.check_runs[run["id"]] = run
        return run

    def _patch_check_run(self, number: str, body: Any, **_: Any) -> Any:
        run = _found(self.check_runs, number)
        run["output"]["annotations"] += _annotations(body)
        return run

    def _get_issues(self, query: Mapping[str, str], **_: Any) -> Any:
        labels = {label for label in query.get("labels", "").split(",") if label}
        pulls = [{**each, "pull_request": {}, "body": "", "labels": each["labels"]} for each in self.pulls.values()]
        every = [*self.issues.values(), *pulls]
        return Page(
            [
                each
                for each in every
                # pyrefly: ignore[bad-index]
                if each["state"] == query.get("state", "open") and labels <= {label["name"] for label in each["labels"]}
            ]
        )

    def _post_issues(self, body: Any, **_: Any) -> Any:
        number = self.number()
        issue = {**body, "body": _text(body), "number": number, "state": "open", "user": BOT}
        issue["labels"] = [{"name": label} for label in body.get("labels") or ()]
        self.issues[number] = issue
        return issue

    def _patch_issue(self, number: str, body: Any, **_: Any) -> Any:
        issue = _found(self.issues, number)
        issue.update(body)
        return issue


_COMMENTS = ("issues:read", "pull-requests:read")
_WRITES = ("issues:write", "pull-requests:write")
# Path, the permissions of which one is enough, and what answers. Source: the page of each endpoint.
_ROUTES: tuple[tuple[str, tuple[str, ...], Callable[..., Any]], ...] = (
    (r"/actions/runs/(\d+)", ("actions:read",), GitHub._get_run),
    (r"/actions/runs/(\d+)/artifacts", ("actions:read",), GitHub._get_artifacts),
    (r"/actions/artifacts/(\d+)/zip", ("actions:read",), GitHub._get_archive),
    (r"/pulls", ("pull-requests:read",), GitHub._get_pulls),
    (r"/pulls/(\d+)", ("pull-requests:read",), GitHub._get_pull),
    (r"/commits/([0-9a-f]{40})/pulls", ("pull-requests:read",), GitHub._get_pulls_of_commit),
    (r"/issues/(\d+)/comments", _COMMENTS, GitHub._get_comments),
    (r"/issues/(\d+)/comments", _WRITES, GitHub._post_comments),
    (r"/issues/comments/(\d+)", _WRITES, GitHub._patch_comment),
    (r"/issues/comments/(\d+)", _WRITES, GitHub._delete_comment),
    (r"/check-runs", ("checks:write",), GitHub._post_check_run),
    (r"/check-runs/(\d+)", ("checks:write",), GitHub._patch_check_run),
    (r"/issues", ("issues:read",), GitHub._get_issues),
    (r"/issues", ("issues:write",), GitHub._post_issues),
    (r"/issues/(\d+)", ("issues:write",), GitHub._patch_issue),
)


def _repository(fork: bool) -> dict[str, Any]:
    name, owner, number = (FORK, FORK_OWNER, FORK_ID) if fork else (NAME, OWNER, OWN_ID)
    return {"id": number, "full_name": name, "owner": {"login": owner}, "default_branch": "main"}


def _found(where: Mapping[int, Any], number: str) -> Any:
    if int(number) not in where:
        raise RefusedError(404, "Not Found")
    return where[int(number)]


def _text(body: Mapping[str, Any]) -> str:
    if len(body["body"]) > MOST_BODY:
        raise RefusedError(422, f"body is too long (maximum is {MOST_BODY} characters)")
    return body["body"]


def _annotations(body: Mapping[str, Any]) -> list[Any]:
    told = body["output"]["annotations"]
    if len(told) > 50:
        raise RefusedError(422, "No more than 50 annotations are allowed per request")
    for each in told:
        assert each["annotation_level"] in ("notice", "warning", "failure")
        assert 1 <= each["start_line"] <= each["end_line"]
        assert len(each["message"].encode()) <= 64 * 1024
        assert len(each["title"]) <= 255
        assert each["path"]
    return told


class _Transport(urllib.request.HTTPHandler):
    """Answers in place of a connection, so that the library follows redirects and raises errors as with a real one."""

    def __init__(self, hosting: Any) -> None:
        super().__init__()
        self._hosting = hosting

    def http_open(self, req: urllib.request.Request) -> Any:
        address = urlsplit(req.full_url)
        headers = {name.lower(): value for name, value in req.header_items()}
        signed = headers.get("authorization") or headers.get("private-token") or ""
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        if address.path.startswith("/storage/"):
            archive = next(each["data"] for each in self._hosting.artifacts if f"/storage/{each['id']}" == address.path)
            return _response(req, 400, b"InvalidAuthenticationInfo") if signed else _response(req, 200, archive)
        try:
            assert req.data is None or isinstance(req.data, bytes)
            body = json.loads(req.data) if req.data else None
            told = self._hosting.answer(req.get_method(), address.path, query, body, signed.removeprefix("Bearer "))
        except RefusedError as error:
            return _response(req, error.status, json.dumps({"message": str(error)}).encode())
        if isinstance(told, Redirect):
            return _response(req, 302, b"", {"Location": f"{self._hosting.url}{told.path}"})
        if isinstance(told, Page):
            return self._page(req, told, address.path, query)
        return _response(req, 200, b"" if told is None else json.dumps(told).encode())

    def _page(self, req: urllib.request.Request, told: Page, path: str, query: Mapping[str, str]) -> Any:
        size, page = min(int(query.get("per_page", 30)), 100), int(query.get("page", 1))
        items = told.items[(page - 1) * size : page * size]
        headers = dict[str, str]()
        if len(told.items) > page * size:
            more = "&".join(f"{key}={value}" for key, value in {**query, "page": str(page + 1)}.items())
            headers["Link"] = f'<{self._hosting.url}{path}?{more}>; rel="next"'
        body = {"total_count": len(told.items), told.key: items} if told.key else items
        return _response(req, 200, json.dumps(body).encode(), headers)


def _response(req: urllib.request.Request, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> Any:
    written = Message()
    for name, value in (headers or {}).items():
        written[name] = value
    response = urllib.response.addinfourl(io.BytesIO(body), written, req.full_url, status)
    vars(response)["msg"] = HTTPStatus(status).phrase  # as of a connection; the library's errors show it
    return response


@contextmanager
def answering(hosting: Any) -> Iterator[None]:
    """Requests of this process go to `hosting` until the block ends. It has `answer`, and `artifacts` where it is GitHub."""
    hosting.url = "http://hosting.test"
    opener = urllib.request.build_opener(_Transport(hosting))
    with mock.patch.object(urllib.request, "urlopen", opener.open):
        yield
