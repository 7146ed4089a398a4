"""The published packages: what is in the wheels, and what an environment has in which they were installed."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import azure_gpu
from azure_gpu.formats.build_context import context_hash
from azure_gpu.shared import workloads
from azure_gpu.shared.installation import WORKLOADS
from tests.support.embedded import CHECKOUT
from tests.support.installed import UV, built_wheel, environment

# Where the newest entry of CHANGELOG.md begins: `## 0.2.0 - 2026-12-01`, or `## 0.2.0 - unreleased`.
ENTRY = re.compile(r"^## (\d+\.\d+\.\d+) - (?:unreleased|\d{4}-\d\d-\d\d)$", re.MULTILINE)
PRINT_TAGS = """
from azure_gpu.formats.build_context import context_hash
from azure_gpu.shared.workloads import NAMES, context, tag
print(*(f"{each} {tag(each)} {context_hash(context(each)) if context(each).is_dir() else ''}" for each in NAMES), sep="\\n")
"""
PRINT_LOADED = """
import sys
from azure_gpu.catalog.prices import packaged
price, region = packaged().cheapest("Standard_NC4as_T4_v3")
print(price is not None, region != "", *(name for name in sys.modules if name.startswith("pulumi")))
"""
PRINT_NAMES = """
import azure_gpu
print(azure_gpu.BatchPool, azure_gpu.__version__, sep="\\n")
try:
    azure_gpu.GpuCluster
except ImportError as error:
    print(error)
try:
    exec("from azure_gpu import *")
except ImportError as error:
    print(error)
"""
HINT = "GpuCluster requires the package pulumi-kubernetes; run: pip install 'azure-gpu[kubernetes]'"
LARGEST_WHEEL = 1_000_000  # bytes
NOT_PUBLISHED = ("__pycache__", ".pyc", "test_", "conftest", "localazure", ".venv", ".local")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(CHECKOUT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def verbs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(CHECKOUT, tmp_path_factory.mktemp("verbs"), "operations")


@pytest.fixture(scope="module")
def library(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the library and nothing else."""
    return environment(wheel, tmp_path_factory.mktemp("library"))


def printed(python: Path, program: str, folder: Path) -> list[str]:
    done = subprocess.run([python, "-I", "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def sources(folder: Path) -> set[str]:
    files = (each for each in folder.rglob("*.*") if each.suffix in (".py", ".csv", ".lock", ".in", ".json"))
    return {each.relative_to(folder.parent).as_posix() for each in files}


@pytest.mark.slow
def test_the_wheels_hold_the_library_with_its_data_and_the_verbs_with_the_program_and_the_workloads(
    wheel: Path, verbs: Path
) -> None:
    assert wheel.stat().st_size < LARGEST_WHEEL
    held, of_verbs = (set(zipfile.ZipFile(each).namelist()) for each in (wheel, verbs))
    assert {"azure_gpu/py.typed", "azure_gpu/LICENSE", *sources(CHECKOUT / "components" / "azure_gpu")} <= held
    assert {"azure_gpu_operations/LICENSE", *sources(CHECKOUT / "operations" / "azure_gpu_operations")} <= of_verbs
    dockerfiles = {(workloads.context(each) / workloads.dockerfile(each)).relative_to(WORKLOADS) for each in workloads.NAMES}
    assert {f"azure_gpu_operations/workload_sources/{each.as_posix()}" for each in dockerfiles} <= of_verbs
    assert {f"azure_gpu_operations/workload_sources/digits/samples/{digit}.png" for digit in range(10)} <= of_verbs
    program = {Path(name).name: zipfile.ZipFile(verbs).read(name).decode() for name in of_verbs if "/program/" in name}
    assert program["stack_program.py"] == (CHECKOUT / "__main__.py").read_text(encoding="utf-8")
    own = (CHECKOUT / "Pulumi.yaml").read_text(encoding="utf-8")
    assert program["Pulumi.yaml"] == own.replace("    virtualenv: .venv\n", "") != own
    assert "azure_gpu_operations/examples/t4-tonight/stack.yaml" in of_verbs
    for package, names in (("azure_gpu", held), ("azure_gpu_operations", of_verbs)):
        assert {name.split("/")[0] for name in names} == {package, f"{package}-{version('azure-gpu')}.dist-info"}
        assert [name for name in names if any(part in name for part in NOT_PUBLISHED)] == []


def test_a_component_on_a_cluster_names_the_extra_that_it_requires(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'pulumi_kubernetes'", name="pulumi_kubernetes")

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(ImportError, match=re.escape(HINT)):
        # pyrefly: ignore[missing-attribute]
        azure_gpu.__getattr__("GpuCluster")


def test_the_version_is_that_of_the_newest_entry_of_the_changelog() -> None:
    newest = ENTRY.findall((CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"))[0]
    of_verbs = tomllib.loads((CHECKOUT / "operations" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert version("azure-gpu") == newest == of_verbs["version"]
    assert of_verbs["dependencies"] == [f"azure-gpu[operations]=={newest}"]


@pytest.mark.slow
def test_the_wheel_of_the_source_archive_is_the_same(wheel: Path, tmp_path: Path) -> None:
    command = [UV, "build", "-q", "--no-build-isolation", "--python", sys.executable, "-o", tmp_path, "components"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [built] = tmp_path.glob("*.whl")
    ours, theirs = ({each: archive.read(each) for each in archive.namelist()} for archive in map(zipfile.ZipFile, (wheel, built)))
    [record] = [name for name in ours if name.endswith("/RECORD")]
    assert sorted(ours.pop(record).splitlines()) == sorted(theirs.pop(record).splitlines())
    assert ours == theirs


@pytest.mark.slow
def test_an_empty_environment_has_the_library_after_one_install(library: Path, tmp_path: Path) -> None:
    names, installed, hint, of_all = printed(library, PRINT_NAMES, tmp_path)
    assert (names, installed) == ("<class 'azure_gpu.batch.pool.pool.BatchPool'>", version("azure-gpu"))
    assert (hint, of_all) == (HINT, HINT.replace("GpuCluster", "EdgeSharing"))  # the first of all names


@pytest.mark.slow
def test_the_installed_catalog_reads_its_data_without_pulumi(library: Path, tmp_path: Path) -> None:
    assert printed(library, PRINT_LOADED, tmp_path) == ["True True"]


@pytest.mark.slow
def test_an_installed_workload_has_the_same_image_tag_as_the_checkouts(library: Path, tmp_path: Path) -> None:
    tags = [f"{each} {context_hash(workloads.context(each))} " for each in workloads.NAMES]
    assert printed(library, PRINT_TAGS, tmp_path) == tags


@pytest.mark.slow
def test_pip_installs_it_from_a_clone_by_its_folder(tmp_path: Path) -> None:
    """As `pip install "azure-gpu @ git+https://…#subdirectory=components"` does, with pip itself, which builds in isolation."""
    repository = tmp_path / "repository"
    held = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=CHECKOUT, capture_output=True, check=True)
    for name in filter(None, held.stdout.decode().split("\0")):
        if (CHECKOUT / name).is_file() and not name.startswith(("tests/", "localazure/", "docs/")):
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, repository / name)
    identity = ("-c", "user.name=A test", "-c", "user.email=test@example.com")
    for words in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-q", "-m", "As it is here")):
        subprocess.run(["git", *words], cwd=repository, check=True)

    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([UV, "venv", "-q", "--seed", "--python", sys.executable, python.parents[1]], check=True)
    # Without what they depend on: the tests above have it, and pip would fetch it anew.
    packages = (("azure-gpu", "components"), ("azure-gpu-operations", "operations"))
    wanted = [f"{name} @ git+{repository.as_uri()}#subdirectory={folder}" for name, folder in packages]
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-deps", *wanted], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert printed(python, "import azure_gpu; print(azure_gpu.__version__)", tmp_path) == [version("azure-gpu")]
    assert printed(python, PRINT_TAGS, tmp_path) == [f"{each} {' '.join([workloads.tag(each)] * 2)}" for each in workloads.NAMES]
    done = subprocess.run([python.with_name("azure-gpu"), "sizes"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.endswith("is missing; run: pip install azure-gpu-operations\n")
