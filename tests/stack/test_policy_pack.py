"""The policy pack on the real engine: over a program without this project's components, and over a stack that is shipped."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from azure_gpu_policies.policies import ALL
from tests.stack.conftest import Shipped
from tests.support import warm_python
from tests.support.embedded import ServedAzure
from tests.support.policy_pack import PYTHON, installed
from tests.support.stack import connected_environment, connection_keys, run_to_its_end

FOREIGN = Path(__file__).parent / "own_programs" / "foreign.py"
EVENTS = {"PULUMI_DEBUG_COMMANDS": "true"}  # else the engine has no option to write its events
# What the stack prod breaks on purpose: it keeps one T4, so that a first request doesn't wait for a node.
MEANT = {("gpu-scale-to-zero", "shared-pool-t4")}

pytestmark = pytest.mark.slow


class Violation(NamedTuple):
    policy: str
    level: str
    resource: str
    message: str


def violations(log: Path) -> list[Violation]:
    """What the pack told, by the engine's events. AssertionError where a policy couldn't run."""
    events = [json.loads(line) for line in log.read_text().splitlines()]
    told = [each["policyEvent"] for each in events if "policyEvent" in each]
    assert not [each["message"] for each in told if "can't run policy" in each["message"]]
    return [
        Violation(each["policyName"], each["enforcementLevel"], each.get("resourceUrn", "").rsplit("::", 1)[-1], each["message"])
        for each in told
    ]


@pytest.fixture(scope="module")
def pack(engine_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("clone"), engine_bin)


class Foreign:
    """The program in a folder of its own, as a stack that was never brought up."""

    def __init__(self, folder: Path, azure: ServedAzure, engine_bin: Path) -> None:
        self.folder = folder
        warm = warm_python.warmed(connected_environment(azure, engine_bin), str(PYTHON))
        self.variables = {**warm, **EVENTS, "PATH": f"{PYTHON.parent}:{warm['PATH']}"}
        shutil.copy(FOREIGN, folder / "__main__.py")
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump({"name": "somebody", "runtime": "python"}))
        (folder / "Pulumi.one.yaml").write_text(yaml.safe_dump({"config": connection_keys(azure)}))
        done = self.pulumi("stack", "init", "one")
        assert done.returncode == 0, done.stdout + done.stderr

    def preview(self, pack: Path, configured: dict[str, Any] | None = None) -> tuple[list[Violation], str, int]:
        """What is told, the output and the exit code."""
        log, options = self.folder / "events.jsonl", list[str]()
        if configured is not None:
            file = self.folder / "policies.json"
            file.write_text(json.dumps(configured))
            options = ["--policy-pack-config", str(file)]
        words = ("preview", "--stack", "one", "--policy-pack", str(pack), *options, "--event-log", str(log))
        done = self.pulumi(*words)
        return violations(log), done.stdout + done.stderr, done.returncode

    def pulumi(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return run_to_its_end(["pulumi", *words, "--non-interactive"], self.folder, self.variables)


@pytest.fixture(scope="module")
def foreign(azure: ServedAzure, engine_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Foreign]:
    program = Foreign(tmp_path_factory.mktemp("foreign"), azure, engine_bin)
    yield program
    assert program.pulumi("stack", "rm", "--yes", "one").returncode == 0


def test_ten_faults_of_a_foreign_program_are_found_and_told_with_their_fixes(foreign: Foreign, pack: Path) -> None:
    planted = re.findall(r"# FAULT ([a-z-]+)", FOREIGN.read_text())
    assert len(planted) == 10
    found, output, code = foreign.preview(pack)
    assert sorted(each.policy for each in found) == sorted(planted), output
    assert all("; fix: " in each.message for each in found)
    assert {each.policy for each in found if each.level == "advisory"} == {"gpu-scale-to-zero", "gpu-price-resource"}
    assert code != 0
    assert {each.policy: each.resource for each in found} == {
        "gpu-retired": "train",
        "public-address": "web",
        "plain-text-secret": "web",
        "registry-admin-user": "images",
        "storage-shared-key": "keys",
        "public-kubernetes-api": "cluster",
        "gpu-end-date": "a100",
        "gpu-price-resource": "a100",
        "gpu-scale-to-zero": "warm",
        "kubernetes-privileged": "debug",
    }


def test_levels_settings_and_exceptions_are_an_organizations_own(foreign: Foreign, pack: Path) -> None:
    found, output, code = foreign.preview(
        pack,
        {
            "all": "advisory",
            "gpu-retired": {"as_of": "2023-01-01"},
            "public-address": "disabled",
            "kubernetes-privileged": {"exceptions": ["*::debug"]},
            "gpu-price-resource": {"usd_hour": 30},
            "public-endpoint": {"identity_is_enough": False},
            "allowed-regions": {"enforcementLevel": "advisory", "regions": ["westeurope", "eastus"]},
        },
    )
    assert code == 0, output
    assert {each.level for each in found} == {"advisory"}
    names = {each.policy for each in found}
    assert not names & {"gpu-retired", "public-address", "kubernetes-privileged", "gpu-price-resource", "allowed-regions"}
    assert {each.resource for each in found if each.policy == "public-endpoint"} == {"identities", "batch", "ml", "digits"}


def test_a_shipped_stack_breaks_no_policy_but_on_purpose(
    azure: ServedAzure, shipped: Shipped, pack: Path, tmp_path: Path
) -> None:
    """The others are judged as they are recorded, by tests/components/policy/test_what_the_library_declares.py."""
    stack = shipped(azure, "prod")
    stack.environment.update(EVENTS)
    done = stack.pulumi("preview", "--policy-pack", str(pack), "--event-log", str(tmp_path / "events.jsonl"))
    found = violations(tmp_path / "events.jsonl")
    assert {(each.policy, each.resource) for each in found} == MEANT, [each.message for each in found]
    assert done.returncode == 0, done.stdout + done.stderr
    assert "azure-gpu@v" in done.stdout


def test_the_pack_is_whole_where_it_is_published_by_itself(pack: Path, tmp_path: Path) -> None:
    alone = tmp_path / "pack"
    shutil.copytree(pack, alone, symlinks=True)
    shutil.copytree(pack.parent / "azure_gpu", alone / "azure_gpu")
    started = subprocess.run(
        [alone / "venv" / "bin" / "python", "-c", "import runpy, pulumi_policy as sdk; sdk.PolicyPack = lambda **said: "
         "print(len(said['policies'])); runpy.run_path('.', run_name='__main__')"],
        cwd=alone, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert started.stdout.strip() == str(len(ALL)), started.stderr
