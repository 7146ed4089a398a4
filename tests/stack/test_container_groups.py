"""A container group of several parts on the real engine: it comes up, stays as it is, and another container makes a new group."""

import json
from typing import Any

import pytest

from tests.stack.conftest import MakeStack
from tests.support.embedded import ServedAzure

GROUP = "azure-native:containerinstance:ContainerGroup"
ADDER = "k8s.gcr.io/cuda-vector-add:v0.1"  # of the page's samples


def configuration(**containers: Any) -> dict[str, Any]:
    return {
        "team": "tests",
        "location": "eastus",
        "as_of": "2019-06-01",
        "container_groups": {
            "parts": {
                "expires_after": "2019-06-30",
                "restart_policy": "Never",
                "containers": containers,
                "init_containers": {
                    "set-up": {
                        "image": ADDER,
                        "command": ["sh", "-c", "cp /secrets/token /scratch/token"],
                        "mounts": {"scratch": {"path": "/scratch"}, "secrets": {"path": "/secrets"}},
                    }
                },
                "volumes": {"scratch": "empty_dir", "secrets": {"secret": {"token": "hunter2-in-a-volume"}}},
            }
        },
    }


def container(**more: Any) -> dict[str, Any]:
    return {
        "image": ADDER,
        "command": ["sh", "-c", "wc -c < /scratch/token"],
        "mounts": {"scratch": {"path": "/scratch"}},
        **more,
    }


@pytest.mark.slow
def test_a_group_of_several_parts_comes_up_and_another_container_makes_a_new_one(
    azure: ServedAzure, make_stack: MakeStack
) -> None:
    stack = make_stack(azure, configuration(one=container(gpu={"count": 1, "sku": "K80"})))
    done = stack.up()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hunter2-in-a-volume" not in json.dumps(stack.exported()) + done.stdout + done.stderr
    done = stack.pulumi("preview", "--expect-no-changes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "up to 8 to 10 minutes" in done.stdout + done.stderr

    both = configuration(one=container(gpu={"count": 1, "sku": "K80"}), two=container())
    stack.configure(both)
    steps = [step for step in stack.steps() if step.operation not in ("same", "update")]
    assert [(step.operation, step.type, step.name) for step in steps] == [("replace", GROUP, "parts-group")]
    done = stack.up()
    assert done.returncode == 0, done.stdout + done.stderr
    group = azure.get(stack.outputs()["container_groups"]["parts"], "2023-05-01").json()
    assert [one["name"] for one in group["properties"]["containers"]] == ["one", "two"]

    both["container_groups"]["parts"]["containers"]["two"]["command"] = ["true"]
    stack.configure(both)
    assert [step.operation for step in stack.steps() if step.type == GROUP] == ["update"]
