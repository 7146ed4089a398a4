"""docs/policies.md is what the policies say today, and each policy says enough."""

import re
from pathlib import Path

import yaml

from azure_gpu_policies.model import Policy
from azure_gpu_policies.page import page
from azure_gpu_policies.policies import ALL, BY_NAME
from tests.support.rows import each_row

ROOT = Path(__file__).parents[3]
PACK = ROOT / "components" / "policy"


def test_the_page_is_what_the_policies_say() -> None:
    written = (ROOT / "docs" / "policies.md").read_text()
    assert written == page(), "run: PYTHONPATH=components/policy python -m azure_gpu_policies.page > docs/policies.md"


@each_row("policy", ALL, ids=lambda each: each.name)
def test_a_policy_has_a_name_a_rule_and_settings_with_defaults(policy: Policy) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", policy.name)
    assert (policy.of_resource is None) != (policy.of_stack is None)
    assert policy.description.endswith(".")
    assert policy.fix.endswith(".")
    for setting in policy.settings:
        assert {"type", "description", "default"} <= setting.schema.keys()
    assert BY_NAME[policy.name] is policy  # no other has its name


def test_the_pack_has_the_librarys_version() -> None:
    declared = yaml.safe_load((PACK / "PulumiPolicy.yaml").read_text())
    library = (ROOT / "components" / "pyproject.toml").read_text()
    assert f'version = "{declared["version"]}"' in library
