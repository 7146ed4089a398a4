"""Posts a review as the one note of a merge request.

Sources: GitLab Docs, "Notes API", "Predefined CI/CD variables reference".
"""

from collections.abc import Mapping

from azure_gpu_operations.review.posting.api import Api


def post(environment: Mapping[str, str], body: str, marker: str) -> str:
    """`GITLAB_TOKEN` is a project access token with the scope `api`: a job's own token may write no notes. HostError."""
    api = Api(environment["CI_API_V4_URL"], {"PRIVATE-TOKEN": environment["GITLAB_TOKEN"]})
    notes = f"/projects/{environment['CI_PROJECT_ID']}/merge_requests/{environment['CI_MERGE_REQUEST_IID']}/notes"
    me = api.get("/user")["id"]
    mine = next((each for each in api.pages(notes) if each["body"].startswith(marker) and each["author"]["id"] == me), None)
    done = api.send("PUT", f"{notes}/{mine['id']}", {"body": body}) if mine else api.send("POST", notes, {"body": body})
    return f"note {done['id']}"
