"""docs/pull-requests.md: its commands by bash, with `az`, `gh` and `pulumi` that write down what they were asked."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.embedded import CHECKOUT

PAGE = CHECKOUT / "docs" / "pull-requests.md"
WORKFLOWS = CHECKOUT / ".github" / "workflows"
# Arguments end with NUL, what came on standard input with SOH, a call with STX.
_WRITES_DOWN = """\
#!/bin/sh
{
  printf '%s\\0' "${0##*/}" "$@"
  printf '\\1'
  case " $* " in *" --input - "*) cat ;; esac
  printf '\\2'
} >> "$CALLS"
case $1 in api) echo 1 ;; *) echo an-id ;; esac
"""


bash = pytest.mark.slow  # the page's commands run in it


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, list[str], str]]:
    """What all commands of the page, in order, have called."""
    folder = tmp_path_factory.mktemp("page")
    for name in ("az", "gh", "pulumi"):
        program = folder / name
        program.write_text(_WRITES_DOWN)
        program.chmod(0o755)
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    environment = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "CALLS": str(folder / "calls")}
    shell = ["bash", "-euo", "pipefail"]
    done = subprocess.run(shell, input=script, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [_call(record) for record in (folder / "calls").read_text().split("\2")[:-1]]


def _call(record: str) -> tuple[str, list[str], str]:
    words, told = record.split("\1")
    name, *arguments = words.split("\0")[:-1]
    return name, arguments, told


def of(calls: list[tuple[str, list[str], str]], program: str, *begin: str) -> list[list[str]]:
    return [words for name, words, _ in calls if name == program and words[: len(begin)] == list(begin)]


def option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def environments() -> set[str]:
    """Those that the workflows use to sign in to Azure, and the stacks' own that the page sets up. A release's identity signs."""
    jobs = [job for file in WORKFLOWS.iterdir() for job in yaml.load(file.read_text(), yaml.CSafeLoader)["jobs"].values()]
    return {job["environment"] for job in jobs if "environment" in job} - {"${{ matrix.stack }}", "release"} | {"dev", "prod"}


@bash
def test_every_environment_has_a_credential_a_client_and_its_roles(calls: list[tuple[str, list[str], str]]) -> None:
    credentials = [json.loads(option(words, "--parameters")) for words in of(calls, "az", "ad", "app", "federated-credential")]
    assert {each["subject"] for each in credentials} == {f"repo:octo/gpu:environment:{name}" for name in environments()}
    assert {(each["issuer"], *each["audiences"]) for each in credentials} == {
        ("https://token.actions.githubusercontent.com", "api://AzureADTokenExchange")
    }
    clients = [words for words in of(calls, "gh", "variable", "set", "AZURE_CLIENT_ID")]
    assert {option(words, "--env") for words in clients} == environments()
    roles = [option(words, "--role") for words in of(calls, "az", "role", "assignment", "create")]
    assert roles.count("Storage Blob Data Contributor") == roles.count("Key Vault Crypto User") + 1 == len(environments()) + 1


@bash
def test_every_environment_is_made_and_those_that_deploy_wait_for_somebody_else(
    calls: list[tuple[str, list[str], str]],
) -> None:
    made = {words[3].rpartition("/")[2]: told for _, words, told in calls if "/environments/" in " ".join(words)}
    assert made.keys() == environments()
    for name in ("dev", "prod"):
        rules = json.loads(made[name])
        assert (rules["reviewers"], rules["prevent_self_review"]) == ([{"type": "User", "id": 1}], True)
    guarded = {name for name, told in made.items() if told and json.loads(told)["deployment_branch_policy"]["protected_branches"]}
    assert guarded == environments() - {"azure-review", "review-stacks"}


def test_every_variable_that_a_workflow_reads_is_on_the_page() -> None:
    read = {name for file in WORKFLOWS.iterdir() for name in re.findall(r"\bvars\.([A-Z_]+)", file.read_text())}
    named = set(re.findall(r"^\| `([A-Z_]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert read == named


@bash
def test_the_variable_that_switches_everything_on_is_set_last(calls: list[tuple[str, list[str], str]]) -> None:
    assert [words[2] for words in of(calls, "gh", "variable", "set")][-1] == "AZURE_TENANT_ID"


@bash
def test_the_checks_that_are_required_are_jobs_of_one_workflow_each(calls: list[tuple[str, list[str], str]]) -> None:
    [told] = [told for _, words, told in calls if words[-3:-2] == ["repos/octo/gpu/branches/main/protection"]]
    names = [name for file in WORKFLOWS.iterdir() for name in yaml.load(file.read_text(), yaml.CSafeLoader)["jobs"]]
    for check in json.loads(told)["required_status_checks"]["checks"]:
        assert names.count(check["context"]) == 1


@bash
def test_labels_that_workflows_look_for_are_made(calls: list[tuple[str, list[str], str]]) -> None:
    assert {words[2] for words in of(calls, "gh", "label", "create")} == {"review-stack", "drift"}


@bash
def test_the_commands_are_clean(tmp_path: Path) -> None:
    from tests.test_workflows import tool

    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    file = tmp_path / "commands.sh"
    file.write_text("#!/usr/bin/env bash\n" + "\n".join(blocks))
    signing = CHECKOUT / "docs" / "ci" / "azure-sign-in.sh"
    command = [str(tool("shellcheck")), "--exclude=SC2154", "--shell=bash", str(file), str(signing)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
