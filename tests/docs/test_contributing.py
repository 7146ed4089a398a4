"""CONTRIBUTING.md and docs/architecture.md can be followed: their files and tests exist, and the recipes work on a copy."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.embedded import CHECKOUT

PAGE = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_FILE = re.compile(
    r"\b(?:components|operations|localazure|engine|tests|examples|docs|workloads|templates)/[\w./<>-]*[\w>]\.[a-z]+\b(?!\.)"
)
_TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
RECIPES = ("A VM size", "A key of the stack file", "A rule", "A command", "A resource type of the embedded Azure")
# Files that a recipe creates.
_CREATED = re.compile(r"^--- (\S+) \(new\)$|`([^`\n]+)` \(new\)", re.MULTILINE)


def recipe(heading: str) -> str:
    """The text below one heading of the page."""
    found = PAGE.partition(f"### {heading}\n")[2]
    assert found, heading
    return re.split(r"^##", found, maxsplit=1, flags=re.MULTILINE)[0]


def applied(heading: str, folder: Path) -> None:
    """Writes the additions of a recipe's diffs into a copy of the checkout: each beside the one line that it has in common."""
    for diff in re.findall(r"^```diff\n(.*?)^```", recipe(heading), re.MULTILINE | re.DOTALL):
        for part in re.split(r"^--- ", diff, flags=re.MULTILINE)[1:]:
            head, *lines = part.splitlines()
            file = folder / head.removesuffix(" (new)")
            if head.endswith(" (new)"):
                file.write_text("\n".join(line[1:] for line in lines) + "\n", encoding="utf-8")
                continue
            [common] = [line[1:] for line in lines if line.startswith(" ")]
            added = [line[1:] for line in lines if line.startswith("+")]
            text = file.read_text(encoding="utf-8").splitlines()
            assert text.count(common) == 1, f"{head}: {common!r} is there {text.count(common)} times"
            at = text.index(common) + lines[0].startswith(" ")
            file.write_text("\n".join([*text[:at], *added, *text[at:]]) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages, with the recipes applied one after another."""
    folder = tmp_path_factory.mktemp("checkout")
    for each in ("components", "operations", "localazure"):
        shutil.copytree(CHECKOUT / each, folder / each, ignore=shutil.ignore_patterns("__pycache__", "venv"))
    for heading in RECIPES:
        applied(heading, folder)
    return folder


def run(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Python on the copy."""
    places = [str(copy), str(copy / "components"), str(copy / "operations"), str(CHECKOUT)]
    code = f"import sys; sys.path[:0] = {places!r}\n{words[0]}"
    return subprocess.run([sys.executable, "-I", "-c", code, *words[1:]], cwd=copy, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md", "docs/platforms.md"])
def test_every_file_and_test_that_is_named_exists(name: str) -> None:
    text = (CHECKOUT / name).read_text(encoding="utf-8")
    created = {one or other for one, other in _CREATED.findall(text)}
    code = "\n".join(_CODE.findall(text))
    files = {file for file in _FILE.findall(code) if "<" not in file}
    assert {file for file in files - created if not (CHECKOUT / file).exists()} == set()
    for file, function in _TEST.findall(code):
        assert file in created or f"def {function}(" in (CHECKOUT / file).read_text(encoding="utf-8"), f"{file}::{function}"


@pytest.mark.parametrize("heading", [*RECIPES, "An example"])
def test_a_recipe_renews_what_is_generated_by_one_command_before_it_tests(heading: str) -> None:
    text = recipe(heading)
    assert text.count("make renew") == 1
    assert text.index("make renew") < text.index("make test ")


@pytest.mark.slow
def test_the_recipe_of_a_size_adds_one(copy: Path) -> None:
    size = re.search(r"sizes show (\w+)", recipe("A VM size"))
    assert size is not None
    done = run(copy, "from azure_gpu.catalog.sizes import SIZES; print(SIZES.find(sys.argv[1]).gpu_count)", size[1])
    assert (done.stdout, done.stderr) == ("2\n", "")


_PROBLEMS = """
from azure_gpu.stack.settings import read
from tests.components.recording import PROJECT, STACK
from tests.components.settings_of import TODAY, configuration, pure_problems
parts = {"foundation": {"identity": "create", "storage": "create"}, "batch_account": "create"}
for arguments in eval(sys.argv[1]):
    pool = {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-11-30", **arguments}
    found = pure_problems(read(configuration({**parts, "pools": {"train": pool}}), TODAY), PROJECT, STACK)
    print([f"{each.path}: {each.message}" for each in found if "pack" in each.path])
"""


@pytest.mark.slow
def test_the_recipes_of_a_key_and_of_a_rule_check_it(copy: Path) -> None:
    done = run(copy, _PROBLEMS, repr([{"pack": "yes"}, {"pack": True}, {"pack": True, "task_slots": 2}]))
    assert (done.returncode, done.stderr) == (0, "")
    not_a_boolean, alone, with_slots = map(ast.literal_eval, done.stdout.splitlines())
    assert [each.partition(":")[0] for each in not_a_boolean] == ["pools.train.pack"]
    assert alone == ["pools.train.pack: `pack` requires `task_slots` of 2 or more"]
    assert with_slots == []


@pytest.mark.slow
def test_the_recipe_of_a_command_adds_one(copy: Path) -> None:
    code = "from azure_gpu_operations.__main__ import main; sys.exit(main(sys.argv[1:]))"
    done = run(copy, code, "regions", "Standard_NC4as_T4_v3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "westeurope" in done.stdout.splitlines()
    assert "regions" in run(copy, code, "--help").stdout


@pytest.mark.slow
def test_the_recipe_of_a_resource_type_adds_one(copy: Path) -> None:
    kinds = "from localazure.wiring import without_backends"
    code = f"{kinds}; print(*(each.arm_type for each in without_backends() if each.arm_type == sys.argv[1]))"
    done = run(copy, code, "Microsoft.Network/routeTables")
    assert (done.stdout, done.stderr) == ("Microsoft.Network/routeTables\n", "")
