"""A stack file as an embedded Azure takes it: nothing of a team's own is left, what isn't changed shows no difference."""

import base64

import pytest
import yaml
from hypothesis import given, strategies as st

from azure_gpu_operations.review.placeholders import (
    OTHER,
    OWN,
    InvalidStackFileError,
    prepared,
    with_people,
    without_kubeconfig_files,
)

MINE, THEIRS = "11111111-2222-3333-4444-555555555555", "66666666-7777-8888-9999-000000000000"
PERSON = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
TEXT = f"""
encryptionsalt: v1:abc
secretsprovider: azurekeyvault://vault
config:
  azure-native:subscriptionId: {MINE}
  azure-native:useOidc: "true"
  azure-gpu:location: westeurope
  azure-gpu:foundation:
    registry: {{existing: /subscriptions/{THEIRS}/resourceGroups/g/providers/Microsoft.ContainerRegistry/registries/r}}
    storage: {{existing: /subscriptions/{MINE.upper()}/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/s}}
  azure-gpu:jobs:
    train:
      location: swedencentral
      secret_environment: {{TOKEN: {{secure: v1:xyz}}}}
  azure-gpu:clusters:
    a: {{access: {{admins: {{users: [{PERSON}]}}}}, subnet_id: /subscriptions/{MINE}/resourceGroups/n}}
"""


def test_nothing_of_the_teams_own_is_left() -> None:
    found = prepared(TEXT, "azure-gpu")
    content = yaml.safe_load(found.text)
    assert set(content) == {"config"}
    assert not any(key.startswith("azure-native:") for key in content["config"])
    assert MINE not in found.text.lower()
    assert THEIRS not in found.text
    assert "secure" not in found.text
    assert content["config"]["azure-gpu:foundation"]["registry"]["existing"].split("/")[2] == OTHER
    assert content["config"]["azure-gpu:foundation"]["storage"]["existing"].split("/")[2] == OWN


def test_secrets_are_encrypted_at_their_place_and_have_the_form_of_keys() -> None:
    [(steps, value)] = prepared(TEXT, "azure-gpu").secrets
    assert steps == ("azure-gpu:jobs", "train", "secret_environment", "TOKEN")
    assert len(base64.b64decode(value, validate=True)) == 64


def test_a_secret_has_the_same_stand_in_until_it_changes() -> None:
    def stand_in(text: str) -> str:
        return prepared(text, "azure-gpu").secrets[0][1]

    assert stand_in(TEXT) == stand_in(TEXT.replace("location: swedencentral", "location: eastus"))
    assert stand_in(TEXT) != stand_in(TEXT.replace("v1:xyz", "v1:uvw"))


def test_what_exists_is_named_once_with_its_section_and_people_by_their_object_ids() -> None:
    found = prepared(TEXT, "azure-gpu")
    assert [(each.id.rpartition("/")[2], each.section, each.location) for each in found.resources] == [
        ("r", "foundation", "westeurope"),
        ("s", "foundation", "westeurope"),
        ("n", "clusters", "westeurope"),
    ]
    assert found.people == (PERSON,)
    assert PERSON not in with_people(found.text, {PERSON: "p"})


def test_the_report_says_what_has_something_else_in_its_place() -> None:
    assert [each.path for each in prepared(TEXT, "azure-gpu").placeholders] == [
        "foundation.registry.existing",
        "foundation.storage.existing",
        "jobs.train.secret_environment.TOKEN",
        "clusters.a.subnet_id",
    ]
    assert [each.path for each in prepared("environment: [shared]", "azure-gpu").placeholders] == ["environment"]


@pytest.mark.parametrize("text", ["[1, 2]", "config: [1]", "a: &a [*a", "config: text"])
def test_what_is_no_stack_file_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(InvalidStackFileError) as refused:
        prepared(text, "azure-gpu")
    assert "\n" not in str(refused.value)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc:.-", min_size=1, max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text("abc-:", min_size=1, max_size=8), values, max_size=4))
def test_a_file_without_secrets_and_ids_stays_as_it_is(config: dict[str, object]) -> None:
    kept = {key: value for key, value in config.items() if not key.startswith("azure-native:")}
    found = prepared(yaml.safe_dump({"config": config}), "azure-gpu")
    assert (yaml.safe_load(found.text)["config"], found.secrets, found.resources) == (kept, (), ())


def test_a_kubeconfig_of_a_teams_own_is_neither_read_nor_asked() -> None:
    text = """config:
  azure-gpu:edges:
    file: {kubeconfig_file: edge.kubeconfig, context: second}
    text: {kubeconfig: {secure: v1:abc}}
    both: {kubeconfig: a, kubeconfig_file: b}
"""
    found = prepared(text, "azure-gpu")
    section = "azure-gpu:edges"
    assert found.edges == (((section, "file", "kubeconfig"), "second"), ((section, "text", "kubeconfig"), ""))
    assert found.secrets == ()
    edges = yaml.safe_load(found.text)["config"][section]
    assert edges == {"file": {"context": "second"}, "text": {}, "both": {"kubeconfig": "a", "kubeconfig_file": "b"}}
    offline = yaml.safe_load(without_kubeconfig_files(text, "azure-gpu"))["config"][section]
    assert offline["file"] == {"context": "second", "kubeconfig": {"secure": ""}}
    assert offline["both"] == {"kubeconfig": "a", "kubeconfig_file": "b"}
    assert without_kubeconfig_files(TEXT, "azure-gpu") == TEXT
