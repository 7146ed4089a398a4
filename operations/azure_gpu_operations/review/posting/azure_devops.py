"""Posts a review as the one thread of a pull request. Sources: Azure DevOps Services REST API 7.1, "Pull Request Threads" and
"Pull Request Thread Comments"; "Predefined variables"."""

from collections.abc import Mapping

from azure_gpu_operations.review.posting.api import Api

VERSION = "7.1"


def post(environment: Mapping[str, str], body: str, marker: str) -> str:
    """`SYSTEM_ACCESSTOKEN` is the build's own token, whose identity may contribute to pull requests. HostError."""
    api = Api(environment["SYSTEM_COLLECTIONURI"], {"Authorization": f"Bearer {environment['SYSTEM_ACCESSTOKEN']}"})
    repository = f"/{environment['SYSTEM_TEAMPROJECTID']}/_apis/git/repositories/{environment['BUILD_REPOSITORY_ID']}"
    threads = f"{repository}/pullRequests/{environment['SYSTEM_PULLREQUEST_PULLREQUESTID']}/threads"
    me, content = api.get("/_apis/connectionData")["authenticatedUser"]["id"], {"content": body}
    for thread in api.get(threads, **{"api-version": VERSION})["value"]:
        first = (thread.get("comments") or [{}])[0]
        if str(first.get("content") or "").startswith(marker) and first["author"]["id"] == me:
            api.send("PATCH", f"{threads}/{thread['id']}/comments/{first['id']}", content, **{"api-version": VERSION})
            return f"thread {thread['id']}"
    opened = {"comments": [{"parentCommentId": 0, "commentType": "text", **content}], "status": "closed"}
    return f"thread {api.send('POST', threads, opened, **{'api-version': VERSION})['id']}"
