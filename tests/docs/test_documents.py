"""The documents can be followed: links lead somewhere, commands exist, the problems shown are the real ones."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import azure_gpu_operations.__main__
import localazure.__main__
from azure_gpu.catalog.problems import errors, render
from azure_gpu.shared.refusal import IN_A_STACK_FILE
from azure_gpu.stack.settings import read
from tests.components.settings_of import TODAY, all_problems, configuration

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
CONTENTS = ROOT / "docs" / "README.md"
CHECKS = ROOT / "docs" / "checks.md"
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(ROOT.glob("*/README.md")),
    *sorted(ROOT.glob("*/*/README.md")),
]
COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "localazure": localazure.__main__.main,
    "operations": azure_gpu_operations.__main__.main,
}
LINK = re.compile(r"\]\(([^)\s]+)\)")
IN_LINE = re.compile(r"`[^`\n]+`")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_MAKE = re.compile(r"\bmake (?:-s )?([a-z]+(?:-[a-z]+)*)")
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def relative_links(document: Path) -> Iterator[str]:
    for target in LINK.findall(IN_LINE.sub("code", FENCE.sub("", document.read_text(encoding="utf-8")))):
        if "://" not in target:
            yield target


def code(document: Path) -> str:
    """Code of a document, without diffs, which show what isn't there yet."""
    found = CODE.findall(document.read_text(encoding="utf-8"))
    return "\n".join(each for each in found if not each.startswith("```diff"))


def anchors(document: Path) -> set[str]:
    """Headings as GitHub turns them into anchors: lower case, hyphens for blanks, without other signs."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", document.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_relative_link_leads_to_a_file_and_every_anchor_to_a_heading() -> None:
    wrong: list[str] = []
    for document in DOCUMENTS:
        for target in relative_links(document):
            name, _, anchor = target.partition("#")
            file = (document.parent / name).resolve() if name else document
            if not file.exists() or (anchor and anchor not in anchors(file)):
                wrong.append(f"{document.relative_to(ROOT)}: {target}")
    assert wrong == []


def test_the_contents_list_every_page_of_docs_and_every_example() -> None:
    linked = {(CONTENTS.parent / target.partition("#")[0]).resolve() for target in relative_links(CONTENTS)}
    pages = {*(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*/README.md")} - {CONTENTS}
    assert pages <= linked, sorted(str(each.relative_to(ROOT)) for each in pages - linked)


def test_the_readme_is_a_page_and_leads_to_the_contents() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120
    linked = {(ROOT / target.partition("#")[0]).resolve() for target in relative_links(README)}
    assert {CONTENTS, ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"} <= linked


def test_every_make_target_of_a_document_is_there() -> None:
    known = set(re.findall(r"^([\w./-]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {(document.name, target) for document in DOCUMENTS for target in re.findall(_MAKE, code(document))}
    assert {"up", "test", "lint"} <= {target for _, target in named}
    assert sorted(each for each in named if each[1] not in known) == []


def test_the_readme_names_the_commands_to_begin_with() -> None:
    assert {"up", "down"} <= set(re.findall(r"\bmake ([a-z]+)", code(README)))


def named_commands(document: Path) -> set[tuple[str, str]]:
    """The commands that follow `python -m <room>`, and those in the rows of a table that is headed by it."""
    found = set(re.findall(r"python -m (localazure|operations) ([a-z]+(?:-[a-z]+)*)", code(document)))
    for room, rows in re.findall(r"^\| .*`python -m (\w+) …`.*\n\| -.*\n((?:\|.*\n)+)", document.read_text(), re.MULTILINE):
        found |= {(room, command) for command in re.findall(r"^\| `([a-z]+(?:-[a-z]+)*)", rows, re.MULTILINE)}
    return found


def test_every_command_of_our_own_that_a_document_names_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    named = {command for document in DOCUMENTS for command in named_commands(document)}
    assert {("operations", "up"), ("localazure", "connect")} <= named
    for room, command in sorted(named):
        with pytest.raises(SystemExit) as ended:
            COMMANDS[room]([command, "--help"])
        assert ended.value.code == 0, f"python -m {room} {command}: {capsys.readouterr().err}"


def test_the_problems_that_the_page_shows_are_what_the_program_reports() -> None:
    group = {
        "image": "python:3.11",
        "memory_in_bg": 12,
        "gpu": {"count": 3, "sku": "V100"},
        "expires_after": "2026-11-30",
    }
    settings = read(configuration({"container_groups": {"train": group}}), TODAY)
    shown = render(errors(all_problems(settings, "azure-gpu", "dev")), IN_A_STACK_FILE)
    assert f"```\n{shown}\n```" in CHECKS.read_text(encoding="utf-8")
