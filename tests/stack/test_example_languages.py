"""The stack of examples/languages in Python, TypeScript and YAML, and what each language is told of bad programs."""

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.embedded import ServedAzure
from tests.support.git_server import serving
from tests.support.languages import STACK, Project, copied_example, environment
from tests.support.readme_commands import copied, groups_left

pytestmark = pytest.mark.slow

LAST_DAY = "2099-03-31"
LANGUAGES = ("python", "yaml", "typescript")

Installed = Callable[[str], Project]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone as somebody has it who is about to use an example."""
    return copied(tmp_path_factory.mktemp("clone"), installed=False)


@pytest.fixture(scope="module")
def variables(still_azure: ServedAzure, engine_bin: Path, languages_bin: Path) -> dict[str, str]:
    return environment(still_azure, (languages_bin, engine_bin))


@pytest.fixture(scope="module")
def installed(checkout: Path, still_azure: ServedAzure, variables: dict[str, str]) -> Installed:
    """The example in a language, with all that it needs."""
    ready: dict[str, Project] = {}

    def install(language: str) -> Project:
        if language not in ready:
            project = Project(copied_example(checkout, language), still_azure, variables)
            project.configure(team="vision", lastDay=LAST_DAY)
            project.install()
            ready[language] = project
        return ready[language]

    return install


def test_the_example_in_yaml_comes_up_the_others_declare_the_same_and_it_is_changed_and_goes(
    installed: Installed, still_azure: ServedAzure
) -> None:
    """Which language has declared them makes no difference to components that are there."""
    project = installed("yaml")
    project.well("up", "--yes", "--skip-preview")
    outputs = project.outputs()
    assert outputs.keys() == {"pool", "cluster", "scoringUri", "hourlyCost"}
    assert (most_nodes(still_azure, outputs["pool"]), outputs["hourlyCost"]) == (2, 0.658)
    declared = project.declared()
    assert len(declared) > 60
    for language in ("python", "typescript"):
        assert installed(language).planned() == declared, language

    project.configure(team="vision", lastDay=LAST_DAY, maxNodes=3)
    assert project.steps() == {"train-pool": "update"}
    project.well("up", "--yes", "--skip-preview")
    assert most_nodes(still_azure, outputs["pool"]) == 3
    project.well("destroy", "--yes", "--skip-preview")
    assert project.declared() == set()
    assert groups_left(still_azure, f"{project.name}-") == []


def most_nodes(azure: ServedAzure, pool: str) -> int:
    """How many nodes the formula of a pool allows at most."""
    scale = azure.get(pool, "2024-07-01").json()["properties"]["scaleSettings"]["autoScale"]
    return max(int(number) for number in re.findall(r"min\((\d+),", scale["formula"]))


def test_a_package_is_added_from_a_git_url_with_a_version(
    checkout: Path, still_azure: ServedAzure, variables: dict[str, str], tmp_path: Path
) -> None:
    repository = tmp_path / "served" / "somebody" / "azure-gpu.git"
    published(checkout, repository)
    folder = tmp_path / "program"
    folder.mkdir()
    pool = {"type": "azuregpu:Foundation", "properties": {"location": "westeurope", "team": "vision"}}
    (folder / "Pulumi.yaml").write_text(json.dumps({"name": "own", "runtime": "yaml", "resources": {"base": pool}}))
    with serving(tmp_path / "served") as git:
        trusted = tmp_path / "trusted.pem"
        trusted.write_bytes(git.certificate + Path(variables["SSL_CERT_FILE"]).read_bytes())
        reached = {"SSL_CERT_FILE": str(trusted), "HTTPS_PROXY": git.proxy}
        project = Project(folder, still_azure, {**variables, **reached})
        project.configure()
        source = f"{git.url}/somebody/azure-gpu.git/components"
        missing = project.pulumi("package", "add", f"{source}@0.1.9")
        assert missing.returncode != 0
        assert "0.1.9" in missing.stderr
        project.well("package", "add", f"{source}@0.2.0")
    definition = yaml.safe_load((folder / "Pulumi.yaml").read_text())
    assert definition["packages"] == {"azuregpu": f"{source.removeprefix('https://')}@0.2.0"}
    project.environment = variables  # a program needs the server no more
    assert project.steps() == {"own-one": "create", "base": "create", "base-resource-group": "create"}


def published(checkout: Path, repository: Path) -> None:
    """A bare repository with the files of a checkout, at the tag of its version."""
    repository.parent.mkdir(parents=True)
    work = ["git", "--git-dir", str(repository), "--work-tree", str(checkout)]
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"]
    for command in (
        ["git", "init", "-q", "--bare", str(repository)],
        ["git", "--git-dir", str(repository), "config", "core.bare", "false"],
        [*work, "add", "-A"],
        [*work, *who, "commit", "-q", "-m", "0.2.0"],
        [*work, "tag", "v0.2.0"],
        ["git", "--git-dir", str(repository), "config", "core.bare", "true"],
    ):
        subprocess.run(command, cwd=checkout, check=True)


def test_the_program_in_yaml_of_the_packages_page_is_previewed_as_it_is_printed(
    checkout: Path, still_azure: ServedAzure, variables: dict[str, str], tmp_path: Path
) -> None:
    page = (checkout / "components" / "README.md").read_text(encoding="utf-8")
    text = page.partition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "Pulumi.yaml").write_text(f"name: page\nruntime: yaml\npackages: {{azuregpu: {checkout}/components}}\n{text}")
    project = Project(tmp_path, still_azure, variables)
    project.configure()
    project.install()
    assert {"base": "create", "cluster": "create", "cluster-pool-t4": "create"}.items() <= project.steps().items()


PROGRAMS = yaml.safe_load((Path(__file__).parent / "bad_programs.yaml").read_text(encoding="utf-8"))
BAD, MISTAKES = PROGRAMS["rows"], PROGRAMS["mistakes"]


@pytest.fixture(scope="module")
def bad_projects(installed: Installed) -> Callable[[str], Project]:
    """A folder beside the example of a language, with what that has installed."""
    made: dict[str, Project] = {}

    def make(language: str) -> Project:
        if language not in made:
            example = installed(language)
            folder = example.folder.with_name(f"bad-{language}")
            folder.mkdir()
            for name in ("package.json", "tsconfig.json", "sdks", "node_modules", "venv"):
                if (example.folder / name).exists():
                    (folder / name).symlink_to(example.folder / name)
            made[language] = Project(folder, example.azure, example.environment)
            written(made[language], language, [{}])
            made[language].configure()
        return made[language]

    return make


def unchecked(project: Project) -> Project:
    """Without the types of TypeScript, whose check takes most of the time of a preview and is a test of its own."""
    return replace(project, environment={**project.environment, "PULUMI_NODEJS_TRANSPILE_ONLY": "true"})


# What else the components refuse, and in which words, is in tests/components/host: their host tells each language alike.
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_bad_program_is_refused_in_plain_words(language: str, bad_projects: Callable[[str], Project]) -> None:
    bad = BAD["several at once"]
    project = unchecked(bad_projects(language))
    written(project, language, [bad["resources"]])
    said = told(project, [in_words_of(language, line) for line in bad["said"]])
    assert f"{len(bad['said'])} problems in " in said, f"more or fewer are said:\n{said}"


@pytest.mark.parametrize("language", ["yaml", "typescript"])
def test_what_a_language_refuses_by_itself_is_told_at_once(language: str, bad_projects: Callable[[str], Project]) -> None:
    project = bad_projects(language)
    rows = [row for row in BAD.values() if language in row.get("by_language", {})]
    written(project, language, [row["resources"] for row in rows])
    told(project, [line for row in rows for line in row["by_language"][language]])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_mistakes_that_people_make_are_told_before_anything_is_created(
    language: str, bad_projects: Callable[[str], Project]
) -> None:
    project = unchecked(bad_projects(language))
    for row in MISTAKES.values():
        written(project, language, [row["resources"]])
        lines = [in_words_of(language, line) for line in row.get("said") or row["warned"]]
        told(project, lines, is_refused="said" in row)


# What holds data, and the same with another name for the foundation.
HOLDING = {
    "base": ("Foundation", {"location": "westeurope", "identity": "create", "storage": "create", "logWorkspace": "create"}),
    "batch": ("BatchAccount", {"foundation": "${base}"}),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_destroying_targeting_and_renaming_lose_nothing_that_holds_data(
    language: str, bad_projects: Callable[[str], Project], still_azure: ServedAzure
) -> None:
    project = unchecked(bad_projects(language))
    written(project, language, [HOLDING], {"account": "batch.accountId"})
    project.well("up", "--yes", "--skip-preview")
    before = held(project)
    assert len(before) == 4, before

    for words in (("destroy",), ("destroy", "--target", before["batch-account"]["urn"], "--target-dependents")):
        done = project.pulumi(*words, "--yes", "--skip-preview")
        assert done.returncode != 0
        assert "protected" in done.stdout + done.stderr
        assert held(project) == before, words

    renamed = {"mine": HOLDING["base"], "batch": ("BatchAccount", {"foundation": "${mine}"})}
    written(project, language, [renamed], {"account": "batch.accountId"})
    done = project.pulumi("up", "--yes", "--skip-preview")
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert 'Foundation("mine"): this name is new, and the stack has base' in said
    option = 'opts=pulumi.ResourceOptions(aliases=[pulumi.Alias(name="base")])'
    option = option if language == "python" else 'the option aliases: [{name: "base"}]'
    assert f"fix: to rename it, add the alias base: {option}, which keeps its resources" in said
    assert {name: each for name, each in held(project).items() if name in before} == before

    assert still_azure.get(before["batch-account"]["id"], "2024-07-01").status_code == 200
    assert still_azure.get(before["base-storage"]["id"], "2023-05-01").status_code == 200
    project.well("state", "unprotect", "--all", "--yes", "--stack", STACK)
    project.well("destroy", "--yes", "--skip-preview")


def held(project: Project) -> dict[str, dict[str, str]]:
    """What is protected, by name."""
    state = json.loads(project.well("stack", "export", "--stack", STACK))["deployment"].get("resources") or []
    found = {each["urn"].rsplit("::", 1)[-1]: each for each in state if each.get("protect")}
    return {name: {"urn": each["urn"], "id": each["id"], "created": each["created"]} for name, each in found.items()}


def told(project: Project, expected: Sequence[str], *, is_refused: bool = True) -> str:
    """What a preview says, with a line for each of `expected`."""
    done = project.pulumi("preview")
    assert (done.returncode != 0) is is_refused, done.stdout + done.stderr
    said = (done.stdout + done.stderr).partition("Diagnostics:")[2]
    lines = [next((line for line in said.splitlines() if each in line), each) for each in expected]
    assert [line for line in lines if line in expected] == [], f"not said in:\n{said}"
    assert len(set(lines)) == len(expected), "a line for each"
    assert "Traceback" not in said
    assert 'File "' not in said
    return said


def snake(text: str) -> str:
    return re.sub(r"(?<=[a-z])[A-Z]", lambda letter: f"_{letter[0].lower()}", text)


def in_words_of(language: str, line: str) -> str:
    """A line that the components' host tells, as a program in Python is told it."""
    path, _, rest = line.replace(" has a problem: ", ": ").partition(": ")
    kind, dot, keys = path.rpartition('").')
    return f"{kind}{dot}{snake(keys)}: {rest}" if language == "python" else line


def written(
    project: Project,
    language: str,
    programs: Sequence[Mapping[str, tuple[str, Mapping[str, Any]]]],
    outputs: Mapping[str, str] | None = None,
) -> None:
    """Writes the programs of these components beside each other; `${name}` and `${name.output}` stand for other ones, and so do
    `outputs` of the last."""
    definition: dict[str, Any] = {"name": f"bad-{language}", "runtime": "yaml" if language == "yaml" else "nodejs"}
    definition["packages"] = {"azuregpu": "../../../components"}
    if language == "python":
        definition |= {"runtime": {"name": "python", "options": {"toolchain": "pip", "virtualenv": "venv"}}, "packages": {}}
        program = ["import pulumi", "import azure_gpu"]
        for resources in programs:
            for name, (kind, given) in resources.items():
                literal = re.sub(r'"(\w+)":', lambda key: snake(key[0]), json.dumps(given))
                literal = re.sub(r'"\$\{(.+?)\}"', lambda of: snake(of[1]), literal)
                literal = re.sub(r'\{"fn::secret": (".+?")\}', r"pulumi.Output.secret(\1)", literal)
                program.append(f'{name} = azure_gpu.{kind}("{name}", {literal})')
        program += [f'pulumi.export("{name}", {snake(output)})' for name, output in (outputs or {}).items()]
        (project.folder / "__main__.py").write_text("\n".join(program) + "\n")
    elif language == "yaml":
        definition["resources"] = {
            f"{name}{number or ''}": {"type": f"azuregpu:{kind}", "properties": given}
            for number, resources in enumerate(programs)
            for name, (kind, given) in resources.items()
        }
        definition["outputs"] = {name: f"${{{output}}}" for name, output in (outputs or {}).items()}
    else:
        program = ['import * as pulumi from "@pulumi/pulumi";', 'import * as azuregpu from "@pulumi/azuregpu";']
        program += [f"export let {name}: pulumi.Output<string>;" for name in outputs or {}]
        for resources in programs:
            program.append("{")  # so that names are each program's own
            for name, (kind, given) in resources.items():
                literal = re.sub(r'"\$\{(.+?)\}"', r"\1", json.dumps(given, indent=2))
                literal = re.sub(r'\{\s*"fn::secret": (".+?")\s*\}', r"pulumi.secret(\1)", literal)
                literal = re.sub(r'^( *)"(\w+)":', r"\1\2:", literal, flags=re.MULTILINE)
                program.append(f'const {name} = new azuregpu.{kind}("{name}", {literal});')
            program += [f"{name} = {output};" for name, output in (outputs or {}).items()]
            program.append("}")
        (project.folder / "index.ts").write_text("\n".join(program) + "\n")
    (project.folder / "Pulumi.yaml").write_text(json.dumps(definition, indent=2))
