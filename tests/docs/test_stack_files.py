"""The stack files that the README and the pages show are accepted."""

import re
from pathlib import Path

import pytest
import yaml

from azure_gpu.catalog.problems import errors
from azure_gpu.formats.stack_file import configuration
from azure_gpu.stack.settings import read
from tests.components.recording import PROJECT, STACK, SUBSCRIPTION
from tests.components.settings_of import TODAY, pure_problems
from tests.support.ssh_keys import PUBLIC_KEY

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/batch.md", "docs/clusters.md", "docs/endpoints.md", "docs/gpu-vm.md")
# What the pages say comes beside what they show.
AROUND = {
    "azure-native:subscriptionId": SUBSCRIPTION,
    "azure-gpu:team": "vision",
    "azure-gpu:location": "eastus",
    "azure-gpu:image_source": "https://example.com/octo/azure-gpu.git#0123456789abcdef0123456789abcdef01234567",
    "azure-gpu:foundation": '{"identity": "create", "registry": "create", "storage": "create", "log_workspace": "create"}',
}
# Models that a page uploads by commands.
MODELS = '{"digits-1": {"version": "1", "path": "digits/1"}, "digits-2": {"version": "2", "path": "digits/2"}}'


@pytest.mark.parametrize("page", PAGES)
def test_a_stack_file_of_a_page_has_no_problem(page: str) -> None:
    blocks = re.findall(r"^```yaml\n(config:\n.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    for text in blocks:
        shown = yaml.safe_load(text)
        workspace = shown["config"].get("azure-gpu:ml_workspace")
        if workspace is not None:
            workspace["models"] = yaml.safe_load(MODELS)
        for machine in shown["config"].get("azure-gpu:vms", {}).values():
            machine["admin"]["ssh_public_key"] = PUBLIC_KEY
        settings = read({**AROUND, **configuration(yaml.safe_dump(shown))}, TODAY)
        assert [str(each) for each in errors(pure_problems(settings, PROJECT, STACK))] == []
