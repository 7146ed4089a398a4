"""What a container-group file becomes in a stack file, and what it doesn't."""

import json
from typing import Any

from azure_gpu.catalog.problems import errors
from azure_gpu.container_instances.args import ContainerGroupSettings
from azure_gpu.formats.container_group_file import GROUP, read
from azure_gpu.formats.container_group_settings import Left, config_path, settings_of
from azure_gpu.formats.shaped import Anything, Flag, ListOf, Number, Object, Shape, Text, TextMap
from azure_gpu.shared.validation import check
from tests.support.container_group_files import (
    EXPORTED_2018,
    FILES,
    GPU_YAML,
    NETWORK_PROFILE_2021,
    PASSWORD,
    PROBES_2021,
    SIDECAR_2018,
    VOLUMES_2019,
)
from tests.support.rows import each_row


def settings(text: str) -> tuple[dict[str, Any], list[Left], list[str]]:
    groups, problems = read(text, "f.yaml")
    assert errors(problems) == []
    return settings_of(groups[0])


@each_row("file", sorted(FILES))
def test_a_stack_file_takes_every_key(file: str) -> None:
    for group in read(FILES[file], file)[0]:
        said, _, _ = settings_of(group)
        assert check(said, ContainerGroupSettings, "container_groups.g").problems == []


def test_secrets_are_keys_to_set_and_nowhere_else() -> None:
    said, _, secrets = settings(VOLUMES_2019)
    assert secrets == [
        "secret_environment.SMTP_PASSWORD",
        "volumes.out.azure_file.key",
        'volumes.certificates.secret["client.pem"]',
        'volumes.certificates.secret["ca.pem"]',
        "registries[0].password",
    ]
    assert PASSWORD not in str(said)
    assert said["volumes"] == {
        "out": {"azure_file": {"share": "reports", "account": "examplefiles"}},
        "certificates": {"secret": {}},
        "code": {"git_repo": {"repository": "https://example.com/reports.git", "directory": "."}},
    }
    assert said["mounts"]["certificates"] == {"path": "/etc/certificates", "read_only": True}
    assert said["registries"] == [{"server": "example.azurecr.io", "username": "example"}]


def test_what_the_stack_file_has_no_key_for_is_left_with_its_line() -> None:
    _, left, _ = settings(VOLUMES_2019)
    assert [(one.line, one.path) for one in left] == [
        (16, "properties.containers[0].properties.resources.limits"),
        (31, "properties.diagnostics"),
    ]
    _, left, _ = settings(PROBES_2021)
    assert [(one.line, one.path) for one in left] == [
        (4, "identity"),
        (31, "properties.containers[0].properties.livenessProbe.httpGet.httpHeaders"),
    ]


def test_a_variable_that_azure_exported_without_its_value_is_a_secret() -> None:
    said, _, secrets = settings(EXPORTED_2018)
    assert said["environment"] == {"EPOCHS": "20"}
    assert secrets == ["secret_environment.BUCKET_KEY", "registries[0].password"]


def test_a_network_profile_is_private_and_asks_for_its_subnet() -> None:
    said, left, _ = settings(NETWORK_PROFILE_2021)
    assert said["network"] == "private"
    assert "subnet_id" not in said
    assert said["dns_config"] == {"name_servers": ["10.0.0.10", "10.0.0.11"], "search_domains": "example.internal"}
    assert [(one.line, one.path) for one in left] == [(19, "properties.networkProfile")]


def test_a_secret_in_a_command_is_left_out_with_the_command() -> None:
    text = GPU_YAML.replace("      resources:\n", f"      command: [run, '--token={PASSWORD}']\n      resources:\n")
    said, left, _ = settings(text)
    assert "command" not in said
    assert [(one.line, one.path) for one in left] == [(9, "properties.containers[0].properties.command")]


def test_a_tag_that_the_program_writes_itself_is_left_out() -> None:
    said, left, _ = settings(SIDECAR_2018.replace("tags: null", "tags: {Project: shop, owner: finance}"))
    assert said["tags"] == {"owner": "finance"}
    assert [(one.path, one.line) for one in left] == [("tags.Project", 31)]


def test_a_key_that_is_no_word_is_quoted_as_the_engine_wants_it() -> None:
    assert config_path("volumes.v.secret", "a.pem") == 'volumes.v.secret["a.pem"]'
    assert config_path("", "secret_environment") == "secret_environment"
    assert config_path("registries", 2) == "registries[2]"


def _example(shape: Shape, name: str) -> Any:
    """A value of the shape that is unlike any other, so that it can be looked for."""
    match shape:
        case Text():
            return shape.choices[-1] if shape.choices else f"text-{name}"
        case Number():
            return 7001 + len(name)
        case Flag():
            return True
        case TextMap():
            return {f"key-{name}": f"text-{name}"}
        case Anything():
            return {"any": f"text-{name}"}
        case ListOf():
            return [_example(shape.of, name)]
        case Object():
            return {key: _example(inner, key) for key, inner in shape.properties.items()}


def test_every_property_that_a_group_can_have_is_in_the_settings_or_named_as_left_out() -> None:
    body = _example(GROUP, "")
    groups, problems = read(json.dumps(body), "all.json")
    assert errors(problems) == []
    said, left, secrets = settings_of(groups[0])
    told = str(said) + str(secrets)
    named = tuple(one.path for one in left)
    lost = [
        path
        for path, value in _leaves(groups[0].body, "")
        if not path.startswith(named) and value not in ("[secret]", True) and str(value) not in told
    ]
    # What is the same for every group; and Private, which is `network: private` here.
    assert set(lost) == {"type", "apiVersion", "properties.ipAddress.type"}


def _leaves(value: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, f"{path}.{key}" if path else key)]
    if isinstance(value, list):
        return [leaf for index, inner in enumerate(value) for leaf in _leaves(inner, f"{path}[{index}]")]
    return [(path, value)]
