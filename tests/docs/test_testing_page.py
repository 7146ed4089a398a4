"""docs/testing.md: the tests of the page pass, and every component is declared under its mocks."""

import re
import sys
from pathlib import Path

import pulumi
import pytest
from pulumi.runtime import settings

import azure_gpu
from azure_gpu.testing import SUBSCRIPTION, AzureMocks
from tests.components.test_constructors import GOOD, alone
from tests.support.embedded import CHECKOUT
from tests.support.event_loop import new_event_loop


@pytest.fixture
def mocked() -> None:
    new_event_loop()
    settings.ROOT.set(None)


@pytest.mark.usefixtures("mocked")
def test_the_tests_of_the_page_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (CHECKOUT / "docs" / "testing.md").read_text(encoding="utf-8")
    program, tests = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (tmp_path / "program.py").write_text(program)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "program", raising=False)
    found: dict[str, object] = {}
    exec(compile(tests, "test_program.py", "exec"), found)
    ran = [each() for name, each in found.items() if name.startswith("test_") and callable(each)]
    assert len(ran) == 2
    sys.modules.pop("program")


@pytest.mark.usefixtures("mocked")
@pytest.mark.parametrize("name", sorted(GOOD))
def test_every_component_is_declared_under_the_mocks(name: str) -> None:
    mocks = AzureMocks({"azure-native:network:getVirtualNetwork": {"addressSpace": {"addressPrefixes": []}, "subnets": []}})
    pulumi.runtime.set_mocks(mocks)
    needed = alone(GOOD[name]) if name == "EdgeSharing" else GOOD[name]
    pulumi.runtime.test(lambda: getattr(azure_gpu, name)("mine", **needed).urn)()
    assert f"azuregpu:index:{name}" in [each.typ for each in mocks.resources]
    with pytest.raises(KeyError, match="nothing isn't declared; these are: "):
        mocks.named("nothing")


@pytest.mark.usefixtures("mocked")
def test_resources_get_the_ids_that_azure_gives() -> None:
    pulumi.runtime.set_mocks(AzureMocks())
    shown: list[str] = []

    def build() -> pulumi.Output[None]:
        base = azure_gpu.Foundation("base", location="westeurope", team="vision", storage="create")
        assert base.storage_account_id is not None
        return base.storage_account_id.apply(shown.append)

    pulumi.runtime.test(build)()
    [id_] = shown
    assert id_.startswith(f"/subscriptions/{SUBSCRIPTION}/resourceGroups/project-vision-stack-base/providers/Microsoft.Storage/")
