"""A pull request against its base commit, on the real engine and an embedded Azure that the review starts by itself."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import policy_pack, warm_python
from tests.support.embedded import SUBSCRIPTION, ServedAzure
from tests.support.readme_commands import copied, groups_left, login

pytestmark = pytest.mark.slow

MINE, THEIRS = "11111111-2222-3333-4444-555555555555", "66666666-7777-8888-9999-000000000000"
TEAM = f"""# A team's own environment, with secrets and what it has already.
encryptionsalt: v1:5CEWwYpvYlU=:v1:0000000000000000:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==
config:
  azure-native:subscriptionId: {MINE}
  azure-native:tenantId: {THEIRS}
  azure-native:useOidc: "true"
  azure-gpu:team: vision
  azure-gpu:location: eastus
  azure-gpu:as_of: "2026-11-25"
  azure-gpu:extends: Pulumi.common.yaml
  azure-gpu:foundation:
    identity: create
    storage: create
  azure-gpu:batch_account: create
  azure-gpu:pools:
    train:
      size: Standard_NC4as_T4_v3
      autoscale: {{scenario: pending_tasks, max_nodes: 2}}
      expires_after: "2026-12-31"
    other:
      size: Standard_NC4as_T4_v3
      autoscale: {{scenario: pending_tasks, max_nodes: 1}}
      expires_after: "2026-12-31"
  azure-gpu:edges:
    box:
      kubeconfig_file: nowhere.kubeconfig
      context: second
      namespace: vision
      create_namespace: true
      sharing: {{strategy: mps}}
  azure-gpu:jobs:
    nightly:
      image: mcr.microsoft.com/azuredocs/samples-tf-mnist-demo:gpu
      gpu: T4
      cpu: 4
      memory_in_gib: 16
      secret_environment:
        TOKEN:
          secure: v1:abcdefgh
      expires_after: "2026-12-31"
"""


COMMON = f"""config:
  azure-gpu:foundation:
    registry:
      existing: /subscriptions/{THEIRS}/resourceGroups/shared/providers/Microsoft.ContainerRegistry/registries/company
"""
LIVE = """config:
  azure-native:subscriptionId: 00000000-0000-0000-0000-000000000000
  azure-gpu:team: vision
  azure-gpu:location: eastus
  azure-gpu:as_of: "2026-11-25"
  azure-gpu:foundation:
    identity: create
    storage: create
  azure-gpu:batch_account: create
  azure-gpu:pools:
    train:
      size: Standard_NC4as_T4_v3
      autoscale: {scenario: pending_tasks, max_nodes: 1}
      expires_after: "2026-12-31"
"""


class Clone:
    """A team's repository with the program in it, and what a review of its changes says."""

    def __init__(self, folder: Path, engine_bin: Path, cache: Path) -> None:
        self.folder = copied(folder, installed=True)
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ARM_", "PULUMI_"))},
            "PATH": f"{engine_bin}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(str(self.folder / room) for room in ("components", "operations")),
            "XDG_CACHE_HOME": str(cache),
            "PULUMI_PYTHON_CMD": str(warm_python.python()),
        }
        for name in [each.name for each in self.folder.glob("Pulumi.*.yaml")]:
            (self.folder / name).unlink()
        self.write(TEAM)
        self.write(COMMON, "Pulumi.common.yaml")
        self.git("init", "-q", "-b", "main")
        (self.folder / ".git/info/exclude").write_text(".venv\n")
        self.base = self.commit()

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *who, *words], cwd=self.folder, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self, day: str = "") -> str:
        self.git("add", "--all")
        environment = {**os.environ, "GIT_COMMITTER_DATE": f"{day}T12:00:00Z"} if day else None
        who = ("-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, "commit", "-qm", "m"], cwd=self.folder, env=environment, check=True)
        return self.git("rev-parse", "HEAD")

    def write(self, text: str, name: str = "Pulumi.prod.yaml") -> None:
        (self.folder / name).write_text(text)

    def run(self, *words: str, login: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        """`python -m operations` there. `login`: the environment of somebody who is signed in."""
        return subprocess.run(
            [str(self.folder / ".venv/bin/python"), "-m", "operations", *words],
            cwd=self.folder,
            env={**self._environment, **(login or {}), "PYTHONPATH": self._environment["PYTHONPATH"]},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def review(self, *words: str, base: str = "", code: int = 0, login: Mapping[str, str] | None = None) -> "Report":
        out = self.folder.parent / "out"
        done = self.run("review", "--base", base or self.base, "--out", str(out), *words, login=login)
        assert done.returncode == code, done.stdout + done.stderr + (out / "comment.md").read_text()
        assert "Traceback" not in done.stderr
        return Report(out)

    def restore(self) -> None:
        self.git("reset", "-q", "--hard", self.base)
        self.git("clean", "-qfd", "--", "components", "Pulumi.new.yaml")


class Report:
    """What a review has written."""

    def __init__(self, out: Path) -> None:
        self.comment = (out / "comment.md").read_text()
        self.annotations: list[dict[str, Any]] = json.loads((out / "annotations.json").read_text())
        told = json.loads((out / "review.json").read_text())
        self.stacks: dict[str, dict[str, Any]] = {each["stack"]: each for each in told["stacks"]}

    @property
    def first(self) -> str:
        """The first ten lines of the comment."""
        return "\n".join(self.comment.splitlines()[:10])

    def operations(self, stack: str = "prod") -> dict[str, str]:
        """What happens to each resource that changes."""
        return {each["name"]: each["operation"] for part in self.stacks[stack]["parts"] for each in part["resources"]}


@pytest.fixture(scope="module")
def clone(engine_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    folder = tmp_path_factory.mktemp("review")
    return Clone(folder / "clone", engine_bin, folder / "cache")


@pytest.fixture(autouse=True)
def restored(clone: Clone) -> Iterator[None]:
    yield
    clone.restore()


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_one_gpu_size_shows_what_is_replaced_what_it_costs_and_the_milder_way(clone: Clone) -> None:
    text = TEAM.replace("train:\n      size: Standard_NC4as_T4_v3", "train:\n      size: Standard_NC8as_T4_v3")
    clone.write(text)
    found = clone.review()
    assert found.operations() == {"train-pool": "replace"}
    assert "Batch pool `train-pool` is replaced" in found.first
    assert "`pools.train.size`: `Standard_NC4as_T4_v3` -> `Standard_NC8as_T4_v3`" in found.first
    assert "`replace: drain-first`" in found.first
    assert "USD a month" in found.first
    [costs] = [each for each in found.stacks["prod"]["costs"]["parts"] if each["part"] == "pools.train"]
    assert 0 < costs["before"]["most_hour"]["known"] < costs["after"]["most_hour"]["known"]
    [told] = found.annotations
    assert (told["file"], told["line"]) == ("Pulumi.prod.yaml", line_of(text, "NC8as_T4_v3"))
    assert [each["path"] for each in found.stacks["prod"]["placeholders"]] == [
        "foundation.registry.existing",
        "jobs.nightly.secret_environment.TOKEN",
        "edges.box.kubeconfig_file",
    ]
    assert "v1:abcdefgh" not in found.comment


def test_what_the_program_rejects_is_the_report_on_its_line_beside_a_stack_that_is_new(clone: Clone) -> None:
    text = TEAM.replace("train:\n      size: Standard_NC4as_T4_v3", "train:\n      size: Standard_NC6")
    clone.write(text)
    clone.write(LIVE, "Pulumi.new.yaml")
    found = clone.review("--fail-on", "rejected", code=5)
    assert found.stacks["prod"]["outcome"] == "rejected"
    assert "pools.train.size" in found.first
    of_prod = [each for each in found.annotations if each["file"] == "Pulumi.prod.yaml"]
    assert {each["line"] for each in of_prod} == {line_of(text, "Standard_NC6")}
    assert found.stacks["new"]["outcome"] == "new"
    assert set(found.operations("new").values()) == {"create"}
    assert found.stacks["new"]["unchanged"] == 0


def test_a_policy_that_the_change_breaks_is_told_on_its_line(clone: Clone, tmp_path: Path) -> None:
    text = TEAM.replace("autoscale: {scenario: pending_tasks, max_nodes: 2}", "dedicated_nodes: 1")
    clone.write(text)
    pack, settings = policy_pack.ready(tmp_path), tmp_path / "policies.json"
    settings.write_text(json.dumps({"gpu-scale-to-zero": "mandatory"}))
    options = ("--policy-pack", str(pack), "--policy-pack-config", str(settings), "--fail-on", "policy")
    found = clone.review(*options, code=5)
    assert found.stacks["prod"]["outcome"] == "changed"
    assert found.operations() == {"train-pool": "update"}
    [broken] = [each for each in found.stacks["prod"]["findings"] if each["is_new"]]
    assert (broken["code"], broken["severity"], broken["path"]) == ("gpu-scale-to-zero", "error", "pools.train")
    assert ":no_entry: `gpu-scale-to-zero`" in found.first
    assert "; fix: write an autoScale formula" in broken["message"]
    told = [each for each in found.annotations if each["title"] == "prod: gpu-scale-to-zero"]
    assert [each["line"] for each in told] == [line_of(text, "    train:")]


def test_a_change_of_a_component_shows_in_every_stack(clone: Clone) -> None:
    file = clone.folder / "components/azure_gpu/catalog/services/batch/scale.py"
    before = file.read_text()
    file.write_text(before.replace("DEFAULT_INTERVAL = timedelta(minutes=15)", "DEFAULT_INTERVAL = timedelta(minutes=10)"))
    assert file.read_text() != before
    found = clone.review()
    assert found.operations() == {"train-pool": "update", "other-pool": "update"}
    assert {each["operation"] for each in found.stacks["prod"]["dangers"]} == {"update"}  # fewer nodes may end tasks


def test_a_base_whose_dates_have_passed_comes_up_at_the_day_of_its_commit(clone: Clone) -> None:
    text = LIVE.replace('  azure-gpu:as_of: "2026-11-25"\n', "")
    clone.write(text.replace("2026-12-31", "2026-11-24"))
    old = clone.commit("2026-11-20")
    clone.write(text.replace("2026-12-31", "2099-12-31"))
    found = clone.review(base=old)
    assert found.operations() == {"train-pool": "update"}
    [pool] = [each for part in found.stacks["prod"]["parts"] for each in part["resources"]]
    assert [one["path"] for one in pool["properties"]] == ["tags.expires-at"]
    assert any("as of 2026-11-20" in each for each in found.stacks["prod"]["missing"])


def test_a_base_that_does_not_come_up_is_said_in_a_line(clone: Clone) -> None:
    content = yaml.safe_load(TEAM)
    content["config"]["azure-gpu:pools"]["train"]["size"] = "Standard_NC6"
    clone.write(yaml.safe_dump(content))
    broken = clone.commit()
    clone.write(TEAM)
    found = clone.review(base=broken, code=1)
    assert found.stacks["prod"]["outcome"] == "failed"
    [why] = found.stacks["prod"]["missing"]
    assert why.startswith("the base couldn't be deployed: ")
    assert "pools.train.size" in why
    assert "not reviewed" in found.first


def test_with_a_login_it_is_against_what_is_deployed_also_where_that_is_protected(
    clone: Clone, azure: ServedAzure, engine_bin: Path
) -> None:
    signed_in = login(azure, engine_bin)
    clone.write(LIVE, "Pulumi.live.yaml")
    done = clone.run("up", "--stack", "live", login=signed_in)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (clone.folder / "Pulumi.live.yaml").read_text()  # with the salt that the engine has written
    base = clone.commit()
    try:
        clone.write(text.replace("vision", "sound"), "Pulumi.live.yaml")
        found = clone.review("--live", "--stack", "live", base=base, login=signed_in)
        assert found.stacks["live"]["lane"] == "live"
        assert found.operations("live")["foundation-storage"] == "replace"
        assert "storage account `foundation-storage`" in found.first
    finally:
        for group in groups_left(azure, "vision-live"):
            azure.delete(f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}", "2024-03-01")
        ended = clone.run("pulumi", "stack", "rm", "live", "--yes", "--force", login=signed_in)
    assert ended.returncode == 0, ended.stdout + ended.stderr
