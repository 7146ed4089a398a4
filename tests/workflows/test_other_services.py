"""The files for GitLab and Azure Pipelines: their scripts by bash, against stand-ins for the services' APIs."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu_operations.review.posting.untrusted import MARKER
from tests.support.embedded import CHECKOUT
from tests.workflows.hosting import GitHub, running
from tests.workflows.other_hosting import TOKEN, AzureDevOps, GitLab
from tests.workflows.running import Job, Repository, Run, Runner, State

pytestmark = pytest.mark.slow  # a checkout and a few processes for each job

FOLDER = CHECKOUT / "docs" / "ci"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository(tmp_path_factory.mktemp("hosted") / "gpu.git")
    made.git("update-ref", "refs/heads/main", made.main)
    return made


class Service:
    """Runs scripts of a job, in order."""

    def __init__(self, repository: Repository, engine_bin: Path, folder: Path) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "STACK": "dev"}
        self.runner = Runner(GitHub(), repository, folder / "runner", environment, engine_bin)
        state = folder / "state"
        state.write_text("1")
        self.runner.played = {
            "review": {"files": {"review/comment.md": f"{MARKER}\n# Review"}},
            "preview": {"state": str(state)},
            "up": {"state": str(state)},
            "end": {"code": 3},
            "drift": {},
        }
        folder = folder / "job"
        folder.mkdir()
        for name, told in (("make", ""), ("az", "subscription")):  # what the machine has
            program = folder / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(f"#!/bin/sh\necho {told}\n")
            program.chmod(0o755)
        environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{environment['PATH']}"
        contexts = {"github": {"sha": repository.main}}
        self.state = State("a pipeline", contexts, environment, folder, folder, Job("a job", "success"), Run(0, "success", {}))
        self.runner.check_out({"persist-credentials": "false", "fetch-depth": "0"}, self.state)

    def run(self, script: str, **environment: str) -> list[list[str]]:
        """The verbs that it calls. It has to end well."""
        outcome, output = self.runner.bash({"run": script}, environment, self.state)
        assert outcome == "success", output
        return self.runner.commands()


@pytest.fixture
def service(repository: Repository, engine_bin: Path, tmp_path: Path) -> Service:
    return Service(repository, engine_bin, tmp_path)


def gitlab(job: str) -> str:
    content = yaml.safe_load((FOLDER / "gitlab-ci.yml").read_text())
    return "\n".join(content[job]["script"])


def azure(stage: str) -> str:
    content = yaml.safe_load((FOLDER / "azure-pipelines.yml").read_text())
    [found] = [each for each in content["stages"] if each["stage"] == stage]
    return "\n".join(_scripts(found))


def _scripts(part: Any) -> list[str]:
    """In order, each in a shell of its own."""
    if isinstance(part, list):
        return [script for each in part for script in _scripts(each)]
    if not isinstance(part, Mapping):
        return []
    here = [str(part[key]) for key in ("bash", "inlineScript") if key in part]
    return [*(f"bash -c {shlex.quote(each)}" for each in here), *(one for value in part.values() for one in _scripts(value))]


def test_gitlab_reviews_plans_deploys_and_looks_each_night(service: Service, repository: Repository) -> None:
    hosting = GitLab()
    variables = {"CI_PROJECT_ID": "9", "CI_MERGE_REQUEST_IID": "5", "CI_MERGE_REQUEST_DIFF_BASE_SHA": repository.main}
    with running(hosting) as url:
        asked = ["review", "--base", repository.main, "--out", "review"]
        assert service.run(gitlab("review"), CI_API_V4_URL=url, **variables) == [asked]  # of a fork: no token
        assert len(hosting.notes) == 1
        service.run(gitlab("review"), CI_API_V4_URL=url, GITLAB_TOKEN=TOKEN, **variables)
    assert hosting.notes[1]["body"] == f"{MARKER}\n# Review"
    token = {"AZURE_ID_TOKEN": "a token", "AZURE_FEDERATED_TOKEN_FILE": str(service.state.temporary / "token")}
    assert service.run(gitlab("plan"), **token) == [["preview", "--stack", "dev", "--save-plan", "plan.json"]]
    assert (service.state.temporary / "token").read_text() == "a token"
    assert service.run(gitlab("deploy"), **token) == [["up", "--stack", "dev", "--plan", "plan.json"]]
    nightly = [["end", "--past", "--stack", "dev", "--yes"], ["drift", "--stack", "dev"]]
    assert service.run(gitlab("nightly"), **token) == nightly


def test_azure_pipelines_reviews_plans_deploys_and_looks_each_night(service: Service, repository: Repository) -> None:
    hosting = AzureDevOps()
    place = {"SYSTEM_TEAMPROJECTID": "project", "BUILD_REPOSITORY_ID": "repo", "SYSTEM_PULLREQUEST_PULLREQUESTID": "5"}
    merge = repository.commit("a merge", parent=repository.main)
    service.state.contexts["github"]["sha"] = merge
    service.runner.check_out({"persist-credentials": "false", "fetch-depth": "0"}, service.state)
    with running(hosting) as url:
        called = service.run(azure("review"), SYSTEM_COLLECTIONURI=f"{url}/", SYSTEM_ACCESSTOKEN=TOKEN, **place)
    assert called == [["review", "--base", repository.main, "--out", "review"]]
    assert hosting.threads[2]["comments"][0]["content"] == f"{MARKER}\n# Review"
    task = {"idToken": "a token", "servicePrincipalId": "client", "tenantId": "tenant"}
    assert service.run(azure("plan"), **task) == [["preview", "--stack", "dev", "--save-plan", "plan.json"]]
    (service.state.work / "plan").mkdir()
    (service.state.work / "plan.json").rename(service.state.work / "plan" / "plan.json")
    plan = f"{service.state.work}/plan/plan.json"
    assert service.run(azure("deploy"), PIPELINE_WORKSPACE=str(service.state.work), **task) == [
        ["up", "--stack", "dev", "--plan", plan]
    ]
    nightly = [["end", "--past", "--stack", "dev", "--yes"], ["drift", "--stack", "dev"]]
    assert service.run(azure("nightly"), **task) == nightly
