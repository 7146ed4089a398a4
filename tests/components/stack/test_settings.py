"""Settings: whatever a stack file says, nothing raises, and what is wrong is reported where it was written."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.container_apps.job.args import ServerlessGpuJobSettings
from azure_gpu.container_instances.args import ContainerGroupSettings
from azure_gpu.shared.validation import key_docstrings, schema
from azure_gpu.stack import settings
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.settings import read
from azure_gpu.stack.settings_reference import editor_schema, reference
from tests.components.recording import declare
from tests.components.settings_of import TODAY, all_problems, configuration
from tests.support.tables import of_table

ROOT = Path(__file__).parents[3]
FULL: dict[str, Any] = {
    "tags": {"cost": "42"},
    "image_source": "https://github.com/someone/fork.git#0123abc",
    "assign_roles": True,
    "foundation": {"resource_group": {"create": True}, "identity": {"create": True}, "registry": {"create": True}},
    "container_groups": {
        "train": {
            "workload": "mnist",
            "gpu": {"count": 1, "sku": "V100"},
            "expires_after": "2019-06-30",
            "environment": {"A": "1"},
        },
        "other": {"image": "python:3.11", "command": ["python"]},
    },
    "jobs": {
        "tonight": {"expires_after": "2019-06-30"},
        "queue": {"event": {"rules": {"work": {"type": "azure-queue", "metadata": {"queueName": "work"}}}}},
    },
    "job_environment": {"create": True},
    "batch_account": {"applications": {"tool": {"display_name": "A tool"}}},
    "gallery_images": {"own": {"source_id": "/subscriptions/a", "regions": ["westus"]}},
    "pools": {
        "gpus": {
            "size": "Standard_NC4as_T4_v3",
            "autoscale": {"scenario": "workday", "max_nodes": 2},
            "start_task": {"command": "true", "resource_files": [{"url": "https://a/b", "path": "b"}]},
            "containers": True,
            "mounts": {"data": {"azure_blob": {"container": "data"}}},
        },
    },
    "location": "eastus",
    "as_of": "2019-06-01",
}
OBJECTS = [
    (),
    ("foundation",),
    ("foundation", "registry"),
    ("container_groups", "train"),
    ("container_groups", "train", "gpu"),
    ("jobs", "tonight"),
    ("jobs", "queue", "event"),
    ("jobs", "queue", "event", "rules", "work"),
    ("job_environment",),
    ("batch_account", "applications", "tool"),
    ("gallery_images", "own"),
    ("pools", "gpus"),
    ("pools", "gpus", "autoscale"),
    ("pools", "gpus", "start_task"),
    ("pools", "gpus", "mounts", "data", "azure_blob"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
# Spellings near the real ones, so that values reach the rules behind the keys.
KEYS = st.sampled_from([*StackFile.__annotations__, "container_group", "foundation.registry"])


def test_the_full_file_is_taken_whole() -> None:
    assert read(configuration(FULL), TODAY).problems == []


@given(at=st.sampled_from(OBJECTS), key=st.text(min_size=1, max_size=12).filter(lambda key: ":" not in key), value=JSON)
def test_an_unknown_key_at_any_depth_is_reported_with_its_path(at: tuple[str, ...], key: str, value: object) -> None:
    file = json.loads(json.dumps(FULL))
    inner = file
    for step in at:
        inner = inner[step]
    key = f"{key}?"  # no key of ours
    inner[key] = value
    if not at and value is None:
        return  # the helper leaves such a key out
    paths = [problem.path for problem in read(configuration(file), TODAY).problems]
    assert ".".join([*at, key]) in paths


@given(said=st.dictionaries(KEYS, JSON, max_size=4))
def test_no_value_at_all_makes_the_settings_raise(said: dict[str, object]) -> None:
    found = all_problems(read(configuration(said), TODAY), "azure-gpu", "test")
    assert all(problem.path and problem.message and str(problem) for problem in found)


@given(group=st.dictionaries(st.sampled_from(list(key_docstrings(ContainerGroupSettings))), JSON, max_size=5))
def test_no_value_in_a_container_group_makes_the_settings_raise(group: dict[str, object]) -> None:
    all_problems(read(configuration({"container_groups": {"train": group}}), TODAY), "azure-gpu", "test")


@given(job=st.dictionaries(st.sampled_from(list(key_docstrings(ServerlessGpuJobSettings))), JSON, max_size=5))
def test_no_value_in_a_job_makes_the_settings_raise(job: dict[str, object]) -> None:
    all_problems(read(configuration({"jobs": {"train": job}}), TODAY), "azure-gpu", "test")


def test_a_job_environment_is_made_for_each_region_with_the_gpus_of_its_jobs() -> None:
    jobs = {"a": {}, "b": {"location": "West Europe", "gpu": "A100"}, "c": {"location": "eastus"}}
    taken = read(configuration({"jobs": jobs}), TODAY)
    assert taken.parts["job_environment"] == {
        "westeurope": {"create": True, "location": "westeurope", "gpus": ["T4", "A100"]},
        "eastus": {"create": True, "location": "eastus", "gpus": ["T4"]},
    }
    more = read(configuration({"jobs": {"c": jobs["c"]}, "job_environment": {"gpus": ["A100"]}}), TODAY)
    assert more.parts["job_environment"] == {"eastus": {"create": True, "location": "eastus", "gpus": ["T4", "A100"]}}


@pytest.mark.parametrize(("work", "key"), [("container_groups", "group_name"), ("jobs", "job_name")])
def test_two_names_that_would_be_one_in_azure_are_a_problem_and_those_of_two_kinds_are_not(work: str, key: str) -> None:
    part = {"image": "python:3.11", "expires_after": "2099-12-31"}
    other = "jobs" if work == "container_groups" else "container_groups"
    said = {
        "location": "eastus",
        work: {"one": {**part, key: "same"}, "two": {**part, key: "same"}, "three": part},
        other: {"four": {**part, "job_name" if other == "jobs" else "group_name": "same"}},
    }
    found = all_problems(read(configuration(said), TODAY), "azure-gpu", "test")
    assert [problem.path for problem in errors(found)] == [f"{work}.two.{key}"]


@given(secret=st.integers(10_000_000) | st.lists(st.integers(10_000_000), min_size=1))
def test_a_value_that_may_be_a_secret_is_never_shown(secret: object) -> None:
    groups = [{"secret_environment": {"PIN": secret}}, {"secret_environment": secret}]
    rule = {"type": "azure-queue", "secrets": {"connection": secret}}
    jobs = [{"secret_environment": {"PIN": secret}}, {"event": {"rules": {"queue": rule}}}]
    said = [{"container_groups": {"train": group}} for group in groups] + [{"jobs": {"train": job}} for job in jobs]
    for each in said:
        found = read(configuration(each), TODAY).problems
        assert found
        assert not [problem for problem in found if json.dumps(secret) in str(problem)]


@of_table("said")
def test_a_secret_in_the_wrong_shape_is_never_shown(said: dict[str, Any]) -> None:
    found = all_problems(read(configuration(said), TODAY), "azure-gpu", "test")
    assert found
    assert "hunter2" not in str(found)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "9" * 400, "9" * 5000, "[" * 100_000])
def test_a_number_that_is_none_is_refused_where_it_was_written(number: str) -> None:
    taken = read({**configuration({}), "azure-gpu:jobs": f'{{"train": {{"cpu": {number}, "memory_in_gib": {number}}}}}'}, TODAY)
    assert [problem.path for problem in taken.problems][:1] in (["jobs.train.cpu"], ["jobs"])


@pytest.mark.parametrize("stack", ["dev", "documents", "local"])
def test_every_stack_file_of_the_repository_can_be_had(stack: str) -> None:
    said = yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text())["config"]
    connected = {"azure-gpu:image_source": "https://localhost:1/checkout.git#HEAD", "team": None, "location": None, **said}
    found: list[Problem] = []
    declare(lambda: found.extend(all_problems(read(configuration(connected), TODAY), "azure-gpu", stack)))
    assert errors(found) == []
    # The document runs its sample, built for CUDA 8.0, on a V100, which CUDA knows from 9.0 on.
    warned = ["container_groups.gpucontainergrouprm.image"] if stack == "documents" else []
    assert [problem.path for problem in found] == warned


def test_the_schema_for_editors_is_what_the_settings_say_today() -> None:
    written = json.loads((ROOT / "docs" / "settings.schema.json").read_text())
    assert written == editor_schema(), "run: python -m azure_gpu.stack.settings_reference schema > docs/settings.schema.json"


def test_the_reference_for_people_is_what_the_settings_say_today() -> None:
    written = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert written == reference(schema(StackFile)), (
        "run: python -m azure_gpu.stack.settings_reference reference > docs/settings.md"
    )


def test_every_key_of_a_stack_file_has_a_docstring() -> None:
    def descriptions(schema: Any) -> list[str]:
        if isinstance(schema, list):
            return [text for each in schema for text in descriptions(each)]
        if not isinstance(schema, dict):
            return []
        own = [each.get("description", "") for each in schema.get("properties", {}).values()]
        return own + [text for each in schema.values() for text in descriptions(each)]

    config = editor_schema()["properties"]["config"]
    found = descriptions(config)
    assert len(found) > 30
    assert all(found)


def test_pulumi_yaml_declares_what_every_stack_has_to_say_and_no_default() -> None:
    project = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
    assert project["name"] == settings.PROJECT
    assert set(project["config"]) == StackFile.__required_keys__
    descriptions = key_docstrings(StackFile)
    for key, declared in project["config"].items():
        assert declared == {"type": "string", "description": descriptions[key]}
