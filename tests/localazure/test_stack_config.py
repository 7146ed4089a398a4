"""The copy of a stack's configuration that is connected to the embedded Azure."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.formats import bounded_yaml
from tests.support.embedded import EmbeddedAzure

DEV = {
    "encryptionsalt": "v1:of-another-place",
    "config": {
        "azure-native:location": "westeurope",
        "azure-native:subscriptionId": "11111111-1111-1111-1111-111111111111",
        "azure-gpu:groups": {"train": {"gpu": {"count": 1}}},
    },
}


@pytest.fixture
def checkout(tmp_path: Path, azure: EmbeddedAzure, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(azure, "checkout", tmp_path)
    return tmp_path


def connected(azure: EmbeddedAzure, checkout: Path, source: Any) -> dict[str, Any]:
    text = source if isinstance(source, str) else yaml.safe_dump(source)
    (checkout / "Pulumi.sample.yaml").write_text(text)
    done = azure.command("connect", "sample")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(azure.state / "Pulumi.sample.yaml")
    assert (checkout / "Pulumi.sample.yaml").read_text() == text
    return bounded_yaml.load((azure.state / "Pulumi.sample.yaml").read_text())


def test_the_five_connection_keys_are_this_servers(azure: EmbeddedAzure, checkout: Path) -> None:
    config = connected(azure, checkout, DEV)["config"]
    assert config == {
        "azure-gpu:image_source": f"{azure.url}/checkout.git#HEAD",
        "azure-native:location": "westeurope",
        "azure-gpu:groups": {"train": {"gpu": {"count": 1}}},
        "azure-native:metadataHost": azure.url.removeprefix("https://"),
        "azure-native:disableInstanceDiscovery": "true",
        "azure-native:subscriptionId": "00000000-0000-0000-0000-000000000000",
        "azure-native:tenantId": azure.tenant_id,
        "azure-native:clientId": azure.client_id,
    }


def test_a_source_of_images_that_the_stack_names_is_kept(azure: EmbeddedAzure, checkout: Path) -> None:
    source = {"config": {"azure-gpu:image_source": "https://example.org/repository.git#main"}}
    assert connected(azure, checkout, source)["config"]["azure-gpu:image_source"] == "https://example.org/repository.git#main"


def test_the_copys_own_salt_is_kept_and_the_sources_left_out(azure: EmbeddedAzure, checkout: Path) -> None:
    copy = azure.state / "Pulumi.sample.yaml"
    copy.unlink(missing_ok=True)
    assert "encryptionsalt" not in connected(azure, checkout, DEV)
    written = yaml.safe_load(copy.read_text())
    copy.write_text(yaml.safe_dump({"encryptionsalt": "v1:ours", **written}))
    again = connected(azure, checkout, DEV)
    assert again == {"encryptionsalt": "v1:ours", **written}


@pytest.mark.parametrize("day", ["2019-06-01", "2026-11-31"])  # November has 30 days: the program says so
def test_an_unquoted_date_stays_one(azure: EmbeddedAzure, checkout: Path, day: str) -> None:
    connected(azure, checkout, f"config:\n  azure-gpu:as_of: {day}\n")
    assert f"azure-gpu:as_of: {day}\n" in (azure.state / "Pulumi.sample.yaml").read_text()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("config: [", "not YAML"),
        ("- a\n", "mapping"),
        ("config:\n  a:b: " + "[" * 2_000 + "]" * 2_000 + "\n", "nested more than 64 deep"),
        ("config:\n  a:b: &a [*a]\n", "never ends"),
        ("config:\n  a:b: !!binary é\n", "tag of YAML"),
        ("config: 7\n", "mapping"),
        ("config:\n  a:b:\n    secure: v1:abc\n", "a:b"),
        ("config:\n  a:b:\n    one:\n      TOKEN:\n        secure: v1:abc\n", "a:b.one.TOKEN"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(azure: EmbeddedAzure, checkout: Path, text: str, word: str) -> None:
    (checkout / "Pulumi.sample.yaml").write_text(text)
    done = azure.command("connect", "sample")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert word in done.stderr


def test_a_stack_without_a_file_is_refused_with_those_there_are(azure: EmbeddedAzure, checkout: Path) -> None:
    (checkout / "Pulumi.sample.yaml").write_text("config: {}\n")
    done = azure.command("connect", "prod")
    assert done.returncode == 1
    assert done.stderr == f"localazure: Pulumi.prod.yaml not found in {checkout}; stacks: sample\n"
