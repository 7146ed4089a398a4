"""The text of a release: tag, package and change log agree, or nothing is released."""

import importlib.util
from types import ModuleType

import pytest

from tests.support.embedded import CHECKOUT

SCRIPT = CHECKOUT / ".github" / "release_notes.py"
PACKAGE = '[project]\nname = "azure-gpu"\nversion = "1.2.3"\n'
CHANGELOG = "# Changelog\n\n## 1.2.3 - 2026-12-01\n\n### Added\n- a size\n\n## 1.2.2 - 2026-11-01\n\n- older\n"


@pytest.fixture(scope="module")
def release_notes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_notes", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_text_is_the_entry_of_the_version(release_notes: ModuleType) -> None:
    assert release_notes.notes("v1.2.3", PACKAGE, CHANGELOG) == "### Added\n- a size\n"


@pytest.mark.parametrize(
    ("tag", "package", "changelog", "message"),
    [
        ("1.2.3", PACKAGE, CHANGELOG, "'1.2.3' isn't a tag such as v0.2.0"),
        ("v1.2.4", PACKAGE, CHANGELOG, "components/pyproject.toml has version 1.2.3"),
        ("v1.2.3", PACKAGE, CHANGELOG.replace("1.2.3 -", "1.2.4 -"), "the newest entry of CHANGELOG.md is 1.2.4"),
        ("v1.2.3", PACKAGE, "# Changelog\n", "the newest entry of CHANGELOG.md is missing"),
        ("v1.2.3", PACKAGE, CHANGELOG.replace("2026-12-01", "unreleased"), "is 'unreleased'; write its date"),
    ],
)
def test_a_tag_that_does_not_fit_is_rejected(
    release_notes: ModuleType, tag: str, package: str, changelog: str, message: str
) -> None:
    with pytest.raises(release_notes.ReleaseError, match=message.replace(".", r"\.")):
        release_notes.notes(tag, package, changelog)


def test_the_script_says_why_in_one_line(release_notes: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert release_notes.main(["v99.0.0"]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith("error: the tag is v99.0.0, but components/pyproject.toml has version ")
