"""Jobs for an edge device as Microsoft's pages have them: the fragment with its comment that is none, and the companion's Job."""

import textwrap

import pytest
import yaml
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Severity
from azure_gpu.edge.args import EdgeJobSettings
from azure_gpu.formats import edge_deployment
from azure_gpu.formats.edge_deployment import named
from azure_gpu.shared.validation import check, key_hints
from tests.support.edge_documents import COMPANION, FRAGMENT
from tests.support.tables import of_table


def test_the_documents_fragment_gives_its_percentage_and_a_warning_about_its_comment() -> None:
    [job], [problem] = edge_deployment.read(FRAGMENT, "deployment.yaml")
    assert job.settings == {"active_thread_percentage": 20}
    assert problem.path == "deployment.yaml:1"
    assert problem.severity is Severity.WARNING
    assert "//" in problem.message


@pytest.mark.parametrize("indent", [0, 4], ids=["as-shown", "in-its-list"])
def test_the_fragment_may_be_indented_as_a_whole(indent: int) -> None:
    jobs, _ = edge_deployment.read(textwrap.indent(FRAGMENT, " " * indent), "deployment.yaml")
    assert [job.settings for job in jobs] == [{"active_thread_percentage": 20}]


def test_the_companions_job_is_taken_whole() -> None:
    [job], problems = edge_deployment.read(COMPANION, "job.yaml")
    assert problems == []
    assert job.name == "cuda-sample1"
    assert job.settings == {
        "image": "nvidia/samples:nbody",
        "command": ["/tmp/nbody"],
        "args": ["-benchmark", "-i=1000"],
        "visible_devices": "0",
        "host_ipc": True,
        "host_pid": True,
        "retries": 1,
    }


def test_several_documents_are_several_jobs_each_with_its_own_lines() -> None:
    second = COMPANION.replace("cuda-sample1", "cuda-sample2").replace('value: "0"', "value: 1")
    jobs, problems = edge_deployment.read(f"{COMPANION}---\n{second}", "jobs.yaml")
    assert [job.name for job in jobs] == ["cuda-sample1", "cuda-sample2"]
    assert jobs[1].settings["visible_devices"] == "1"
    [unquoted] = problems
    assert unquoted.path == "jobs.yaml:37: spec.template.spec.containers[0].env[0].value"
    assert unquoted.severity is Severity.WARNING


def test_a_line_of_a_script_that_begins_with_two_slashes_stays() -> None:
    text = 'image: a/b:1\nargs:\n  - |\n    // of the program\n    run\nenv:\n// of the file\n- {name: A, value: "1"}\n'
    [job], problems = edge_deployment.read(text, "container.yaml")
    assert job.settings["args"] == ["// of the program\nrun\n"]
    assert job.settings["environment"] == {"A": "1"}
    assert [problem.path for problem in problems] == ["container.yaml:7"]


def test_what_is_likely_a_secret_is_named_and_not_taken() -> None:
    text = "env:\n- {name: DB_PASSWORD, value: hunter2}\n- {name: MODE, value: fast}\n"
    [job], problems = edge_deployment.read(text, "d.yaml")
    assert job.secrets == ("DB_PASSWORD",)
    assert job.settings == {"environment": {"MODE": "fast"}}
    assert "hunter2" not in repr((job, problems))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("Deployment", "started again when it ends"),
        ("CronJob", "no schedule"),
    ],
)
def test_objects_that_go_on_are_taken_as_jobs_that_end_and_that_is_said(kind: str, said: str) -> None:
    pod = "{containers: [{name: c, image: 'a/b:1'}]}"
    spec = f"{{template: {{spec: {pod}}}}}"
    text = (
        f"kind: {kind}\nmetadata: {{name: n}}\nspec: {spec if kind == 'Deployment' else f'{{jobTemplate: {{spec: {spec}}}}}'}\n"
    )
    [job], problems = edge_deployment.read(text, "d.yaml")
    assert job.settings == {"image": "a/b:1"}
    assert [said in problem.message for problem in problems] == [True]


def test_what_a_job_here_has_not_is_left_out_with_a_warning_each() -> None:
    text = COMPANION.replace(
        "          env:",
        "          resources: {limits: {nvidia.com/gpu: 1}}\n          volumeMounts: [{name: v, mountPath: /v}]\n          env:",
    ).replace("      restartPolicy", "      volumes: [{name: v, emptyDir: {}}]\n      restartPolicy")
    [job], problems = edge_deployment.read(text, "job.yaml")
    assert "resources" not in job.settings
    assert sorted(problem.path.rpartition(".")[2] for problem in problems) == ["resources", "volumeMounts", "volumes"]
    assert {problem.severity for problem in problems} == {Severity.WARNING}


@of_table("text", "message")
def test_what_cannot_be_read_is_said_with_its_place(text: str, message: str) -> None:
    _, problems = edge_deployment.read(text, "d.yaml")
    assert any(message in problem.message for problem in problems)
    assert all(problem.path.startswith("d.yaml") for problem in problems)


@pytest.mark.parametrize(
    ("written", "seen"), [('"0"', "0"), ('"1"', "1"), ('"0,1"', "0,1"), ("all", "all"), ('""', "none"), ("void", "none")]
)
def test_visible_devices_are_taken_as_written_and_nothing_is_none(written: str, seen: str) -> None:
    [job], _ = edge_deployment.read(f"env:\n- name: NVIDIA_VISIBLE_DEVICES\n  value: {written}\n", "d.yaml")
    assert job.settings == {"visible_devices": seen}


def test_of_several_jobs_one_is_found_by_its_name_and_a_single_one_without() -> None:
    jobs, _ = edge_deployment.read(f"{COMPANION}---\n{COMPANION.replace('cuda-sample1', 'cuda-sample2')}", "jobs.yaml")
    found = named(jobs, "cuda-sample2")
    assert found is not None
    assert found.name == "cuda-sample2"
    assert named(jobs, "other") is None
    assert named(jobs[:1], "other") is jobs[0]


KEYS = st.sampled_from(
    ["kind", "spec", "template", "containers", "env", "name", "value", "image", "command", "metadata", "hostIPC"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["Job", "Pod", "CronJob"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.text(max_size=60) | VALUES.map(lambda value: yaml.safe_dump(value, allow_unicode=True)))
def test_no_text_raises_and_every_problem_has_its_place(text: str) -> None:
    jobs, problems = edge_deployment.read(text, "d.yaml")
    assert jobs or problems
    assert all(problem.path.startswith("d.yaml") for problem in problems)
    for job in jobs:
        assert set(job.settings) <= set(key_hints(EdgeJobSettings))
        assert check(dict(job.settings), EdgeJobSettings, "").problems == []
