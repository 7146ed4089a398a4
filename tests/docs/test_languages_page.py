"""docs/languages.md shows the programs of examples/languages as they are, part by part."""

import json
import re

import pytest

from engine import pulumi_tools
from tests.support.embedded import CHECKOUT

PAGE = (CHECKOUT / "docs" / "languages.md").read_text(encoding="utf-8")
EXAMPLES = CHECKOUT / "examples" / "languages"
PROGRAMS = {"python": "python/__main__.py", "typescript": "typescript/index.ts", "yaml": "yaml/Pulumi.yaml"}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


@pytest.mark.parametrize("language", PROGRAMS)
def test_every_line_of_a_program_is_on_the_page_in_order(language: str) -> None:
    program = lines((EXAMPLES / PROGRAMS[language]).read_text(encoding="utf-8"))
    shown = lines("\n".join(blocks(language)))
    first = program.index(shown[0])
    assert shown == program[first:]
    assert all(line.startswith(("#", "//", '"""')) for line in program[:first])


def test_each_part_is_shown_in_every_language() -> None:
    assert {len(blocks(language)) for language in PROGRAMS} == {6}


def test_a_configuration_is_declared_alike_everywhere() -> None:
    declared = [(EXAMPLES / language / "Pulumi.yaml").read_text(encoding="utf-8") for language in PROGRAMS]
    # pyrefly: ignore[unsupported-operation]
    sections = {re.search(r"^config:\n(?:  .*\n)+", text, re.MULTILINE)[0] for text in declared}
    assert len(sections) == 1


def test_the_locked_packages_are_of_the_engines_version_and_of_no_registry_in_particular() -> None:
    asked = json.loads((EXAMPLES / "typescript" / "package.json").read_text(encoding="utf-8"))
    assert f"v{asked['dependencies']['@pulumi/pulumi']}" == pulumi_tools.VERSION
    locked = json.loads((EXAMPLES / "typescript" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert locked["node_modules/@pulumi/pulumi"]["version"] == asked["dependencies"]["@pulumi/pulumi"]
    assert {each["resolved"] for each in locked.values() if "resolved" in each} == {"sdks/azuregpu"}
    assert [name for name, each in locked.items() if "integrity" not in each] == [
        "",
        "node_modules/@pulumi/azuregpu",
        "sdks/azuregpu",
    ]
