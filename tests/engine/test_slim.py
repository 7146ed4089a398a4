"""What a build leaves out: the pinned source is copied and edited, and an edit that doesn't fit is one line."""

import shutil
from pathlib import Path
from unittest import mock

import pytest

from engine import go, kubernetes_tools, language_tools, pulumi_tools, slim
from engine.pins import GoModule
from tests.engine.pretended_machine import Machine

_GO = "go"
_BUILDS = (
    (pulumi_tools.COMMAND_LINE, pulumi_tools.LANGUAGE_HOST),
    (pulumi_tools.COMMAND_LINE, language_tools.NODEJS),
    (kubernetes_tools.KUBERNETES,),
)
_EDITS = """
["example.com/tool"]
removed = ["clouds/other.go"]
["example.com/tool".replaced]
"api/api.go" = "package api // ours"
["example.com/tool".edits]
"main.go" = [{ old = "\\t_ \\"clouds/other\\"\\n" }, { old = "if other {", before = "return", new = "// without\\n\\t" }]
"""
_SOURCE = {
    "main.go": 'import (\n\t_ "clouds/other"\n)\n\tif other {\n\t\tcall()\n\t}\n\treturn\n',
    "main_test.go": "package main",
    "testdata/large.json": "{}",
    "api/api.go": "package api",
    "api/help.txt": "embedded",
    "clouds/other.go": "package clouds",
}


@pytest.fixture
def module(tmp_path: Path) -> GoModule:
    """A module that pins a tool, and in `tmp_path/source` what it pins."""
    written(tmp_path / "source", _SOURCE)
    written(tmp_path / "module", {"slim.toml": _EDITS, "go.mod": "module ours\n", "go.sum": "sums\n"})
    return GoModule(tmp_path / "module", "example.com/tool/cmd", (1, 26), {"example.com/tool": "v1.2.3"})


def written(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def options(module: GoModule, scratch: Path) -> list[str]:
    scratch.mkdir()
    with mock.patch.object(go, "module_folder", return_value=module.folder.with_name("source")):
        return slim.options(_GO, module, scratch)


def test_the_pinned_source_is_copied_and_edited(module: GoModule, tmp_path: Path) -> None:
    assert options(module, tmp_path / "scratch") == [f"-modfile={tmp_path / 'scratch' / 'go.mod'}"]
    copy = tmp_path / "scratch" / "slim-0"
    assert (copy / "main.go").read_text() == "import (\n)\n\t// without\n\treturn\n"
    assert (copy / "api" / "api.go").read_text() == "package api // ours"
    assert sorted(file.name for file in copy.rglob("*") if file.is_file()) == ["api.go", "help.txt", "main.go"]
    assert (tmp_path / "scratch" / "go.mod").read_text() == f"module ours\n\nreplace example.com/tool v1.2.3 => {copy}\n"
    assert (tmp_path / "scratch" / "go.sum").read_text() == "sums\n"
    assert {name: (tmp_path / "source" / name).read_text() for name in _SOURCE} == _SOURCE, "what is pinned stays as it is"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"main.go": "func main() {}"}, r"main.go has '_ \"clouds/other\"' 0 times, not 1"),
        ({"main.go": _SOURCE["main.go"] * 2}, r"main.go has '_ \"clouds/other\"' 2 times, not 1"),
        ({"main.go": '\t_ "clouds/other"\nif other {'}, "main.go has no 'return' after 'if other {'"),
        ({"clouds/other.go": None}, "it has no clouds/other.go"),
        ({"api/api.go": None}, "it has no api/api.go"),
        ({"main.go": None}, "it has no main.go"),
    ],
    ids=["gone", "twice", "no end", "nothing to remove", "nothing to replace", "nothing to edit"],
)
def test_an_edit_that_does_not_fit_is_one_line(
    module: GoModule, tmp_path: Path, change: dict[str, str | None], said: str
) -> None:
    for name, text in change.items():
        (tmp_path / "source" / name).unlink() if text is None else (tmp_path / "source" / name).write_text(text)
    with pytest.raises(go.BuildError) as error:
        options(module, tmp_path / "scratch")
    where = f"{module.folder / 'slim.toml'} doesn't fit example.com/tool v1.2.3: "
    assert str(error.value) == where + said.replace("\\", "")


def test_a_build_that_its_edits_do_not_fit_ends_with_that_line_and_leaves_nothing(machine: Machine) -> None:
    machine.has_go()
    (machine.records / "sdk" / "operations" / "operations_aws.go").unlink()
    result = machine.run()
    assert (result.returncode, result.stdout, machine.builds()) == (1, "", [])
    assert result.stderr.splitlines()[-1].endswith("pkg/v3 v3.259.0: it has no operations/operations_aws.go")
    assert not list(machine.cache.glob("*.building-*"))


@pytest.mark.slow
@pytest.mark.parametrize("modules", _BUILDS, ids=["pulumi", "languages", "kubernetes"])
def test_the_edits_fit_what_is_pinned(tmp_path: Path, modules: tuple[GoModule, ...]) -> None:
    program = shutil.which("go")
    if program is None:
        pytest.skip("Go isn't on PATH")
    slim.options(program, modules[0], tmp_path, *modules[1:])
    assert (tmp_path / "slim-0" / "go.mod").exists()
