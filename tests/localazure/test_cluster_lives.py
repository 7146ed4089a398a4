"""Clusters and their node pools in ARM, by the lives in `cluster_lives.yaml`: made, changed, scaled, stopped and taken away."""

from pathlib import Path
from typing import Any

import httpx
import yaml

from localazure.fault import Fault
from tests.support.managed_clusters import CLUSTER, ArmHarness, cluster, pool, refusal
from tests.support.rows import failure

KEY = CLUSTER.lower()
Step = dict[str, Any]


def sent(arm: ArmHarness, step: Step) -> httpx.Response | None:
    if "cluster" in step:
        path = f"{CLUSTER.rsplit('/', 1)[0]}/{step.get('name', 'gpu')}"
        return arm.put(path, cluster(**step["cluster"]) | ({"tags": step["tags"]} if "tags" in step else {}))
    if "pool" in step:
        return arm.put(f"{CLUSTER}/agentPools/{step.get('name', 't4')}", pool(**step["pool"]))
    if "post" in step:
        return arm.post(f"{CLUSTER}/{step['post']}", step.get("body"))
    if "delete" in step:
        return arm.delete(f"{CLUSTER}/{step['delete']}".rstrip("/"))
    if "fault" in step:
        arm.services.deviations.faults.append(Fault(**step["fault"]))
    else:
        arm.written.counts[KEY, "t4"] = step["scaled"]
    return None


def versions(found: dict[str, Any]) -> list[str]:
    """Of a profile of upgrades."""
    return [each["kubernetesVersion"] for each in found.get("controlPlaneProfile", found)["upgrades"]]


def at(found: Any, path: str) -> Any:
    """What lies at a path, `a.0.b`; None where nothing does."""
    for name in path.split("."):
        named: dict[Any, Any] = dict(enumerate(found)) if isinstance(found, list) else found or {}
        found = named.get(int(name) if name.isdigit() else name)
    return found


def seen(arm: ArmHarness, step: Step, told: int) -> Step:
    """What there is of what the step expects."""
    name = step.get("name", "t4")

    def shown(path: str, asked: dict[str, Any]) -> dict[str, Any]:
        found = arm.get(path).json()["properties"]
        return {each: at(found, each) for each in asked}

    def nodes(asked: dict[str, Any]) -> dict[str, Any]:
        shape = arm.written.pools[KEY, name]
        return {each: listed(getattr(shape, each)) for each in asked}

    looks: dict[str, Any] = {
        "shows": lambda asked: shown(CLUSTER, asked),
        "pool_shows": lambda asked: shown(f"{CLUSTER}/agentPools/{name}", asked),
        "status": lambda asked: {path: arm.get(f"{CLUSTER}/{path}".rstrip("/")).status_code for path in asked},
        "upgrades": lambda asked: {path: versions(arm.get(f"{CLUSTER}/{path}").json()["properties"]) for path in asked},
        "told": lambda _: [" ".join(word for word in each if word != KEY) for each in arm.written.told[told:]],
        "nodes": nodes,
    }
    return {word: look(step[word]) for word, look in looks.items() if word in step}


def listed(value: Any) -> Any:
    return [listed(each) for each in value] if isinstance(value, tuple) else value


def lives(arm: ArmHarness, steps: list[Step]) -> None:
    arm.services.deviations.faults.clear()
    if (answer := arm.delete(CLUSTER)).status_code != 204:  # of another row
        arm.succeeded(answer)
    if "cluster" not in steps[0]:
        arm.succeeded(arm.put(CLUSTER, cluster()))
    for number, step in enumerate(steps, 1):
        told = len(arm.written.told)
        answer = sent(arm, step)
        if "refused" in step:
            assert answer is not None
            status, code, message = refusal(answer)
            assert f"{status} {code}" == step["refused"], f"step {number}: {message}"
            assert step.get("says", "") in message, f"step {number}: {message}"
        elif answer is not None and answer.status_code != 204:
            arm.succeeded(answer)
        found = seen(arm, step, told)
        assert found == {word: step[word] for word in found}, f"step {number}: {step}"


def test_clusters_and_pools_live_as_in_aks(arm: ArmHarness) -> None:
    rows: dict[str, list[Step]] = yaml.safe_load(Path(__file__).with_name("cluster_lives.yaml").read_text(encoding="utf-8"))
    wrong = [said for name, steps in rows.items() if (said := failure(lives, (arm, steps), name))]
    assert not wrong, "\n".join(wrong)
