"""docs/first-up.md tells which roles an `up` assigns: whoever has a condition on assigning has to let these through."""

import re

from azure_gpu.catalog import roles
from tests.support.embedded import CHECKOUT

BODIES = CHECKOUT / "tests" / "components" / "cases" / "bodies"


def test_each_role_that_a_stack_assigns_is_in_the_table() -> None:
    page = (CHECKOUT / "docs" / "first-up.md").read_text(encoding="utf-8")
    table = page.partition("## Which roles have to be assignable")[2].partition("\n## ")[0]
    bodies = "".join(path.read_text(encoding="utf-8") for path in BODIES.glob("*.yaml"))
    assigned = {roles.NAMES[each].removesuffix(" (preview)") for each in re.findall(r"roleDefinitions/([0-9a-f-]{36})", bodies)}
    assert len(assigned) > 5
    assert {each for each in assigned if each not in table} == set()
