"""Encrypted values that wouldn't stay secret, and plain ones that look like secrets."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_origin, is_typeddict

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.formats import stack_file
from azure_gpu.shared.secret_places import leaves
from azure_gpu.shared.validation import below, form, is_map, key_hints, may_be_secret
from azure_gpu.stack import secret_values
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.keys import FILE_VARIABLE
from azure_gpu.stack.secret_values import Encrypted
from azure_gpu.stack.settings import read
from tests.components.settings_of import TODAY, configuration, pure_problems
from tests.support.rows import each_row

# Every key of a stack file at which an encrypted value stays secret.
KEPT = {
    "clusters.*.jobs.*.secret_environment.*",
    "clusters.*.services.*.secret_environment.*",
    "container_groups.*.containers.*.secret_environment.*",
    "container_groups.*.init_containers.*.secret_environment.*",
    "container_groups.*.registries[].password",
    "container_groups.*.secret_environment.*",
    "container_groups.*.volumes.*.azure_file.key",
    "container_groups.*.volumes.*.secret.*",
    "edges.*.jobs.*.secret_environment.*",
    "edges.*.kubeconfig",
    "edges.*.pull_from.password",
    "jobs.*.event.rules.*.secrets.*",
    "jobs.*.secret_environment.*",
    "ml_workspace.computes.*.extension.certificate",
    "ml_workspace.computes.*.extension.key",
    "ml_workspace.computes.*.private_key",
    "pools.*.mounts.*.azure_file.key",
    "pools.*.start_task.resource_files[].container_url",
    "pools.*.start_task.resource_files[].url",
    "pools.*.start_task.secret_environment.*",
    "vms.*.admin.password",
}


def places(annotation: Any, path: str = "") -> dict[str, Any]:
    """Every place of a text in a stack file with its annotation."""
    inner = form(annotation)
    if is_typeddict(inner):
        return {
            place: found
            for key, hint in key_hints(inner).items()
            for place, found in places(hint, f"{path}.{key}" if path else key).items()
        }
    if is_map(annotation):
        return places(below(annotation, "name"), f"{path}.*")
    if get_origin(inner) is Sequence:
        return places(below(annotation, 0), f"{path}[]")
    return {path: annotation}


def steps(place: str) -> tuple[str | int, ...]:
    found: list[str | int] = []
    for part in place.replace("[]", ".[]").split("."):
        found.append(0 if part == "[]" else "NAME" if part == "*" else part)
    return tuple(found)


PLACES = places(StackFile)


def refused(*encrypted: tuple[str | int, ...], unplaced: frozenset[str] = frozenset(), **sections: Any) -> list[Problem]:
    keeping = {each.steps[0] for each in leaves(sections, StackFile, ()) if each.is_kept}
    return secret_values.problems(Encrypted(places=encrypted, unplaced=unplaced), sections, keeping)


def warned(file: dict[str, Any], *encrypted: tuple[str | int, ...]) -> list[str]:
    settings = read(configuration(file), TODAY, Encrypted(places=encrypted))
    return [each.path for each in settings.warnings]


def test_every_key_that_may_be_secret_keeps_a_secret() -> None:
    assert {place for place, annotation in PLACES.items() if may_be_secret(annotation)} == KEPT


@each_row("place", sorted(PLACES))
def test_an_encrypted_value_is_refused_where_it_would_be_plain_text(place: str) -> None:
    problems = refused(steps(place))
    may_stay = place in KEPT or PLACES[place] is Any
    assert bool(problems) is not may_stay
    for problem in problems:
        assert problem.value is None
        assert problem.severity is Severity.ERROR


def test_the_key_to_use_is_named_with_its_command() -> None:
    (problem,) = refused(("jobs", "train", "environment", "DB_PASSWORD"))
    assert str(problem) == (
        "jobs.train.environment.DB_PASSWORD: this value is encrypted in the stack file, but this key is kept in plain text, in "
        "the state and in Azure; allowed: a secret in jobs.train.secret_environment; fix: set it with `pulumi config set "
        "--secret --path 'jobs.train.secret_environment.DB_PASSWORD'` and remove it here, or write it in plain text "
        "if it isn't a secret"
    )
    (problem,) = refused(("container_groups", "web", "containers", "web", "command", 2))
    assert "--path 'container_groups.web.containers.web.secret_environment.<NAME>'`" in problem.fix
    (problem,) = refused(("tags", "token"))
    assert (problem.allowed, problem.fix) == ("plain text", "write it in plain text if it isn't a secret")


@pytest.mark.parametrize("section", ["jobs", "team"])
def test_a_whole_section_is_never_encrypted(section: str) -> None:
    assert [each.path for each in refused((section,))] == [section]


def test_a_secret_from_elsewhere_is_refused_where_no_key_that_keeps_one_is_used() -> None:
    unplaced = frozenset({"jobs", "tags"})
    kept = {"train": {"secret_environment": {"TOKEN": "x"}}}
    found = {each.path: each.severity for each in refused(unplaced=unplaced, jobs=kept, tags={"a": "b"})}
    assert found == {"tags": Severity.ERROR, "jobs": Severity.WARNING}  # nobody knows which of the job's values it is
    assert [each.path for each in refused(unplaced=unplaced, jobs={"train": {"environment": {"A": "b"}}})] == ["jobs"]


def test_a_plain_value_that_looks_like_a_secret_is_warned_of() -> None:
    jobs = {
        "train": {
            "environment": {"DB_PASSWORD": "hunter2", "DB_PASSWORD_FILE": "/run/secret", "EPOCHS": "3", "EMPTY_TOKEN": ""},
            "secret_environment": {"TOKEN": "plain", "OTHER_TOKEN": stack_file.SECRET},
            "args": ["--epochs", "3", "--password=hunter2"],
        }
    }
    expected = ["jobs.train.environment.DB_PASSWORD", "jobs.train.secret_environment.TOKEN", "jobs.train.args[2]"]
    assert warned({"jobs": jobs}) == expected
    assert warned({"jobs": jobs}, ("jobs", "train", "secret_environment", "TOKEN")) == [expected[0], expected[2]]


def test_a_warning_shows_no_value_and_names_the_command() -> None:
    file = {"jobs": {"train": {"environment": {"DB_PASSWORD": "hunter2"}, "secret_environment": {"TOKEN": "hunter2"}}}}
    plain, kept = read(configuration(file), TODAY).warnings
    assert "hunter2" not in f"{plain} {kept}"
    assert plain.severity is kept.severity is Severity.WARNING
    assert "in the state and in Azure" in plain.message
    assert "in the state and in Azure" not in kept.message
    assert kept.fix == "set it with `pulumi config set --secret --path 'jobs.train.secret_environment.TOKEN'`"


def test_a_name_of_a_kubernetes_secret_is_none() -> None:
    assert warned({"ml_workspace": {"computes": {"c": {"extension": {"tls_secret": "tls-of-scoring"}}}}}) == []


def test_the_plan_has_both() -> None:
    jobs = {"train": {"environment": {"A_TOKEN": "x", "MODE": "y"}}}
    settings = read(configuration({"jobs": jobs}), TODAY, Encrypted(places=(("jobs", "train", "environment", "MODE"),)))
    found = {each.path: each.severity for each in pure_problems(settings, "azure-gpu", "dev")}
    assert found["jobs.train.environment.MODE"] is Severity.ERROR
    assert found["jobs.train.environment.A_TOKEN"] is Severity.WARNING


def test_the_engine_flags_sections_and_the_file_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flagged = {"PULUMI_CONFIG_SECRET_KEYS": json.dumps(["azure-gpu:jobs", "azure-gpu:tags", "azure-native:clientSecret"])}
    assert secret_values.of_engine({}, "dev") == Encrypted()
    assert secret_values.of_engine(flagged, "dev") == Encrypted(unplaced=frozenset({"jobs", "tags"}))
    file = "config: {'azure-gpu:jobs': {train: {args: [{secure: v1}]}}, 'azure-gpu:team': {secure: v1}}"
    (tmp_path / "Pulumi.dev.yaml").write_text(file)
    expected = Encrypted(places=(("jobs", "train", "args", 0),), unplaced=frozenset({"tags"}))
    assert secret_values.of_engine(flagged, "dev") == expected
    elsewhere = tmp_path / "elsewhere.yaml"
    (tmp_path / "Pulumi.dev.yaml").rename(elsewhere)
    assert secret_values.of_engine({**flagged, FILE_VARIABLE: str(elsewhere)}, "dev") == expected
    elsewhere.write_text("environment: [prod]\n" + file)
    with_environment = secret_values.of_engine({**flagged, FILE_VARIABLE: str(elsewhere)}, "dev")
    assert with_environment == Encrypted(places=expected.places, unplaced=frozenset({"jobs", "tags"}))
    elsewhere.write_text("config: [")
    assert secret_values.of_engine(flagged, "dev") == Encrypted(unplaced=frozenset({"jobs", "tags"}))


def test_keys_without_a_namespace_and_of_the_old_form_are_the_projects() -> None:
    text = "config: {jobs: {a: {args: [{secure: v1}]}}, 'azure-gpu:config:team': {secure: v1}, 'aws:region': {secure: v1}}"
    assert secret_values.in_text(text) == Encrypted(places=(("jobs", "a", "args", 0), ("team",)))


def test_of_a_file_that_is_no_yaml_no_place_is_known(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text("config: {'azure-gpu:jobs': {train: {expires_after: ")
    flagged = {"PULUMI_CONFIG_SECRET_KEYS": '["azure-gpu:jobs"]', FILE_VARIABLE: str(file)}
    assert secret_values.of_engine(flagged, "dev").unplaced == {"jobs"}


values = st.recursive(
    st.text(max_size=8) | st.integers() | st.none() | st.fixed_dictionaries({"secure": st.text(max_size=8)}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*key_hints(StackFile), "nonsense"]), values))
def test_any_file_is_judged(sections: dict[str, Any]) -> None:
    text = json.dumps({"config": {f"azure-gpu:{key}": value for key, value in sections.items()}})
    found = secret_values.in_text(text)
    assert len(secret_values.problems(found, sections, ())) <= len(found.places)
    assert all(each.severity is Severity.WARNING for each in secret_values.likely(leaves(sections, StackFile, ()), found))
    assert all(steps[0] in sections for steps in found.places)
