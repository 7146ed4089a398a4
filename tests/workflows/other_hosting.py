"""Stand-ins for GitLab and Azure DevOps: comments of one merge or pull request, in which somebody else has written the marker."""

import re
from collections.abc import Mapping
from typing import Any

from azure_gpu_operations.review.posting.untrusted import MARKER

TOKEN = "secret"


class GitLab:
    """Notes of a merge request. Source: GitLab Docs, "Notes API": pages as of GitHub, a note's author, PUT to change one."""

    def __init__(self) -> None:
        self.url = ""
        self.notes: list[dict[str, Any]] = [{"id": 1, "body": f"{MARKER}\nI am the review", "author": {"id": 7}}]

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any, token: str) -> Any:
        assert token == TOKEN
        if path == "/user":
            return {"id": 3}
        if method == "GET":
            return self.notes
        if method == "POST":
            self.notes.append({"id": len(self.notes) + 1, "body": body["body"], "author": {"id": 3}})
            return self.notes[-1]
        note = self.notes[int(path.rpartition("/")[2]) - 1]
        assert (method, note["author"]["id"]) == ("PUT", 3)
        note["body"] = body["body"]
        return note


class AzureDevOps:
    """Threads of a pull request. Source: Azure DevOps Services REST API 7.1, "Pull Request Threads"."""

    def __init__(self) -> None:
        self.url = ""
        first = {"id": 1, "content": f"{MARKER}\nI am the review", "author": {"id": "somebody"}}
        self.threads: list[dict[str, Any]] = [{"id": 1, "comments": [first]}, {"id": 2, "comments": []}]

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any, token: str) -> Any:
        assert token == TOKEN
        if path == "/_apis/connectionData":
            return {"authenticatedUser": {"id": "build"}}
        assert path.startswith("/project/_apis/git/repositories/repo/pullRequests/5/threads")
        assert query == {"api-version": "7.1"}
        if method == "GET":
            return {"value": self.threads}
        if method == "POST":
            made = {"id": len(self.threads) + 1, "comments": [{"id": 1, "author": {"id": "build"}, **body["comments"][0]}]}
            self.threads.append(made)
            return made
        thread, comment = re.findall(r"\d+", path.partition("threads")[2])
        [found] = [each for each in self.threads[int(thread) - 1]["comments"] if each["id"] == int(comment)]
        assert (method, found["author"]["id"]) == ("PATCH", "build")
        found["content"] = body["content"]
        return found
