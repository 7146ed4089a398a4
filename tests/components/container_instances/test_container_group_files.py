"""A container group whose settings stand in a file: what the file says, what the stack file says over it, and what is missing."""

from pathlib import Path

from hypothesis import given, strategies as st

from azure_gpu.container_instances.args import ContainerGroupSettings
from azure_gpu.container_instances.file import merged
from azure_gpu.container_instances.resolve import resolve
from azure_gpu.shared.context import Context, resolve_stack
from azure_gpu.stack.settings import read
from tests.components.recording import PROJECT, STACK
from tests.components.settings_of import STACK_ARGS, TODAY, all_problems, configuration, encrypted
from tests.components.stack.test_any_settings import values
from tests.support.container_group_files import GPU_YAML

FILES = Path(__file__).parents[1] / "cases" / "files"
OF_FILES = [
    *((FILES / name).read_text(encoding="utf-8") for name in ("group-with-secrets.yaml", "group-template.json")),
    GPU_YAML,
    "a: [",
    "",
]


def context() -> Context:
    return resolve_stack(STACK_ARGS, PROJECT, STACK)[0]


def test_a_file_that_is_not_there_or_is_no_text_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xfa")
    for file, reason in (("none.yaml", "No such file"), ("binary", "isn't UTF-8"), (".", "not a regular file"), ("a\0b", "null")):
        _, [problem] = resolve("train", {"file": str(tmp_path / file)}, context())
        assert problem.path == "container_groups.train.file"
        assert f"can't be read: {reason}" in problem.message or reason in problem.message
        assert problem.fix


def test_a_stack_file_may_say_a_secret_of_the_file_alone() -> None:
    group = {"file": "web.yaml", "registries": [{"password": "a"}], "volumes": {"share": {"azure_file": {"key": "b"}}}}
    said = {"container_groups": {"train": group}}
    settings = read(configuration(said), TODAY, encrypted(said))
    assert settings.problems == []
    assert [problem.path for problem in all_problems(settings, PROJECT, STACK)] == ["container_groups.train.file"]


def test_what_the_stack_file_says_takes_the_place_of_what_excludes_it() -> None:
    below = {"image": "a", "liveness": {"http": {"port": 1}, "period_seconds": 5}, "volumes": {"x": {"empty_dir": True}}}
    above = {"workload": "mnist", "liveness": {"command": ["check"]}, "volumes": {"x": {"secret": {"key": "b"}}}}
    assert merged(below, above) == {
        "workload": "mnist",
        "liveness": {"period_seconds": 5, "command": ["check"]},
        "volumes": {"x": {"secret": {"key": "b"}}},
    }
    assert merged({"ports": [1, 2]}, {"ports": [3]}) == {"ports": [3]}
    assert merged({"image": "a"}, {"cpu": 2}) == {"image": "a", "cpu": 2}


@given(said=values(ContainerGroupSettings), text=st.sampled_from(OF_FILES))
def test_no_settings_of_the_right_types_make_resolving_raise(said: ContainerGroupSettings, text: str) -> None:
    _, problems = resolve("train", {**said, "file": "group.yaml"}, context(), lambda _: text)
    assert all(problem.path and problem.message and str(problem) for problem in problems)
