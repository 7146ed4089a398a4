"""The first source document, followed command by command: the real Azure CLI walks examples/documents/README.md literally."""

import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import warm_python
from tests.support.azure_cli import connected
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.patience import SECONDS

DOCUMENTS = CHECKOUT / "examples" / "documents"
BETWEEN_SECONDS = 3  # between two looks at its log: each starts an Azure CLI, which takes the CPU from the training
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """Commands, and what the last of them prints: lines of `...` stand for any lines."""

    commands: list[str]
    output: list[str]


def blocks(text: str) -> list[Block]:
    return [Block(commands.splitlines(), output.splitlines()) for commands, output in BLOCK.findall(text)]


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether the lines are those of the page, but for figures, widths of columns and the lines that it leaves out."""
    if not shown:
        return not printed
    if shown[0].strip() == "...":
        return any(matches(shown[1:], printed[start:]) for start in range(len(printed) + 1))
    return bool(printed) and _plain(shown[0]) == _plain(printed[0]) and matches(shown[1:], printed[1:])


def _plain(line: str) -> list[str]:
    return re.sub(r"-{2,}", "--", re.sub(r"\d+(\.\d+)?", "0", line)).split()


def test_lines_are_compared_as_the_page_says() -> None:
    assert matches(["a 0.5", "...", "z"], ["a 17", "b", "c", "z"])
    assert matches(["...", "----  --"], ["x", "--  ---"])
    assert not matches(["a", "z"], ["a", "b", "z"])
    assert not matches(["a"], ["a", "b"])
    assert not matches(["Test PASSED"], [])


def test_the_readme_shows_every_command_of_the_page() -> None:
    shown = [" ".join(command.split()) for block in blocks((DOCUMENTS / "README.md").read_text()) for command in block.commands]
    page = """
    az container create --resource-group myResourceGroup --file gpu-deploy-aci.yaml --location eastus
    az container logs --resource-group myResourceGroup --name gpucontainergroup --container-name gpucontainer
    az group deployment create --resource-group myResourceGroup --template-file gpudeploy.json
    az container logs --resource-group myResourceGroup --name gpucontainergrouprm --container-name gpucontainer
    az container show --resource-group myResourceGroup --name gpucontainergroup --output table
    az container delete --resource-group myResourceGroup --name gpucontainergroup -y
    az container delete --resource-group myResourceGroup --name gpucontainergrouprm -y
    """
    wanted = [" ".join(line.split()) for line in page.strip().splitlines()]
    assert [line for line in wanted if line not in shown] == []
    assert [shown.index(line) for line in wanted] == sorted(shown.index(line) for line in wanted)


# A dozen starts of the Azure CLI beside a training of TensorFlow: by day test_azure_cli creates a group from a file with it,
# test_azure_cli_templates deploys templates, `make up STACK=documents` runs the page's own containers, and the commands of the
# page are compared above.
@pytest.mark.slow
@pytest.mark.nightly
def test_the_page_is_followed_command_by_command(azure: ServedAzure, tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    shutil.copytree(DOCUMENTS, folder)
    for block in blocks((DOCUMENTS / "README.md").read_text()):
        *first, last = block.commands
        for command in first:
            run(azure, command, folder)
        seconds = SECONDS if " logs " in last else 0  # a container may still be writing its log
        deadline = time.monotonic() + seconds
        printed = run(azure, last, folder)
        while block.output and not matches(block.output, printed):
            assert time.monotonic() < deadline, "\n".join([last, *printed])
            time.sleep(BETWEEN_SECONDS)
            printed = run(azure, last, folder)
    assert "cuda-vector-add" in (folder / "exported.yaml").read_text()


def run(azure: ServedAzure, command: str, folder: Path) -> list[str]:
    """The lines that a command of the page prints in `operations shell`; it has to succeed."""
    done = subprocess.run(
        [warm_python.python(), "-m", "operations", "shell", "--config-folder", azure.state, "--", "sh", "-c", command],
        cwd=folder,
        env=connected(azure),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout.strip("\n").splitlines()
