"""The real Azure CLI on the embedded Azure: what a refusal looks like to its user. What is taken is in test_document_*.py."""

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from azure_gpu_operations.connection import connection_from
from azure_gpu_operations.shell.cli import sign_in
from azure_gpu_operations.shell.environment import ShellError
from tests.support.azure_cli import AzureCli, connected
from tests.support.embedded import CHECKOUT

pytestmark = pytest.mark.slow
FILE = (CHECKOUT / "examples" / "documents" / "gpu-deploy-aci.yaml").read_text()
NOT_FOUND = 3  # the CLI's exit code for what ARM answers with 404


@pytest.fixture
def group(az: AzureCli) -> Iterator[str]:
    """The name of a resource group at the source document's date."""
    with az.group("eastus", "as-of=2019-06-01") as name:
        yield name


def test_what_is_not_there_is_exit_code_3_with_arms_code(az: AzureCli, group: str) -> None:
    code, said = az.refusal("container", "show", "--resource-group", group, "--name", "nobody")
    assert code == NOT_FOUND
    assert said.startswith(
        "ERROR: (ResourceNotFound) The Resource 'Microsoft.ContainerInstance/containerGroups/nobody' under resource group "
        f"'{group}' was not found."
    )
    code, said = az.refusal("group", "show", "--name", "nowhere")
    assert (code, said.splitlines()[0]) == (
        NOT_FOUND,
        "ERROR: (ResourceGroupNotFound) Resource group 'nowhere' could not be found.",
    )


def test_a_command_of_the_warm_process_ends_as_that_of_az_itself(az: AzureCli) -> None:
    """All other tests run their commands in a process that has the CLI's modules loaded."""
    for words in (("group", "show", "--name", "nowhere"), ("cloud", "show", "--output", "json")):
        alone = subprocess.run(["az", *words], env=az.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        warm = az(*words)
        assert (warm.returncode, warm.stdout, warm.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def test_the_pages_own_file_is_refused_today(az: AzureCli, tmp_path: Path) -> None:
    name = f"rg-{uuid.uuid4().hex[:12]}"
    az.answer("group", "create", "--name", name, "--location", "eastus")
    file = tmp_path / "group.yaml"
    file.write_text(FILE)
    returned, said = az.refusal("container", "create", "--resource-group", name, "--file", str(file))
    assert returned == 1
    assert "K80" in said.splitlines()[0]
    assert "2023-08-31" in said.splitlines()[0]  # Microsoft retired the K80 before the others


def test_a_date_that_yaml_reads_as_one_is_still_an_api_version(az: AzureCli, group: str, tmp_path: Path) -> None:
    file = tmp_path / "group.yaml"
    file.write_text(FILE.replace("'2018-10-01'", "2018-10-01"))
    made = az.answer("container", "create", "--resource-group", group, "--file", str(file))
    assert made["properties"]["containers"][0]["properties"]["resources"]["requests"]["gpu"] == {"count": 1, "sku": "K80"}


@pytest.mark.parametrize("secret", ["wrong", "-wrong", "@wrong", "wr=ng"])
def test_another_secret_is_refused_in_entras_words(az: AzureCli, tmp_path: Path, secret: str) -> None:
    found = connection_from({}, connected(az.azure))
    elsewhere = {**az.environment, "AZURE_CONFIG_DIR": str(tmp_path)}
    with pytest.raises(ShellError, match="AADSTS7000215: Invalid client secret provided"):
        sign_in(elsewhere, found, secret, print)
