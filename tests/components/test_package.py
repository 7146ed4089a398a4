"""The published package: what is in the wheel, and what an environment has in which it was installed."""

import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import azure_gpu
from azure_gpu.formats.build_context import context_hash
from azure_gpu.shared.installation import WORKLOADS
from azure_gpu.shared.workloads import Workload
from tests.support.embedded import CHECKOUT
from tests.support.installed import UV, built_wheel, environment

# Where the newest entry of CHANGELOG.md begins: `## 0.2.0 - 2026-12-01`, or `## 0.2.0 - unreleased`.
ENTRY = re.compile(r"^## (\d+\.\d+\.\d+) - (?:unreleased|\d{4}-\d\d-\d\d)$", re.MULTILINE)
PRINT_HASHES = """
from azure_gpu.formats.build_context import context_hash
from azure_gpu.shared.workloads import Workload
print(*(f"{each} {each.folder} {context_hash(each.context)}" for each in Workload), sep="\\n")
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
"""
HINT = "GpuCluster requires the package pulumi-kubernetes; run: pip install 'azure-gpu[kubernetes]'"
LARGEST_WHEEL = 2_200_000  # bytes
NOT_PUBLISHED = ("__pycache__", ".pyc", "test_", "conftest", "localazure", ".venv", ".local")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(CHECKOUT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def library(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the library and nothing else."""
    return environment(wheel, tmp_path_factory.mktemp("library"))


def printed(python: Path, program: str, folder: Path) -> list[str]:
    done = subprocess.run([python, "-I", "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_the_wheel_holds_the_library_its_data_the_verbs_the_program_and_the_workloads(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST_WHEEL
    held = set(zipfile.ZipFile(wheel).namelist())
    library = {file.relative_to(CHECKOUT / "components") for file in (CHECKOUT / "components" / "azure_gpu").rglob("*.*")}
    verbs = {
        file.relative_to(CHECKOUT / "operations") for file in (CHECKOUT / "operations" / "azure_gpu_operations").rglob("*.*")
    }
    assert {"azure_gpu/py.typed", "azure_gpu/LICENSE"} <= held
    assert {each.as_posix() for each in library | verbs if each.suffix in (".py", ".csv", ".lock", ".in", ".json")} <= held
    assert any(name.endswith(".csv") for name in held)
    dockerfiles = {(each.context / each.dockerfile).relative_to(WORKLOADS) for each in Workload}
    assert {f"azure_gpu/workload_sources/{each.as_posix()}" for each in dockerfiles} <= held
    assert {f"azure_gpu/workload_sources/digits/samples/{digit}.png" for digit in range(10)} <= held
    assert {f"azure_gpu_operations/program/{name}" for name in ("Pulumi.yaml", "__main__.py", "stack_program.py")} <= held
    assert "azure_gpu_operations/examples/t4-tonight/stack.yaml" in held


@pytest.mark.slow
def test_the_wheel_holds_no_tests_and_nothing_that_a_machine_wrote(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if any(part in name for part in NOT_PUBLISHED)] == []
    assert {name.split("/")[0] for name in names} == {
        "azure_gpu",
        "azure_gpu_operations",
        f"azure_gpu-{version('azure-gpu')}.dist-info",
    }


@pytest.mark.slow
def test_the_program_of_the_wheel_is_the_checkouts_on_the_python_of_the_command(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    program = archive.read("azure_gpu_operations/program/stack_program.py")
    assert program == (CHECKOUT / "__main__.py").read_bytes()
    lines = archive.read("azure_gpu_operations/program/Pulumi.yaml").decode().splitlines()
    own = (CHECKOUT / "Pulumi.yaml").read_text(encoding="utf-8").splitlines()
    assert [line for line in own if line not in lines] == ["    virtualenv: .venv"]
    assert [line for line in lines if line not in own] == []


def test_a_component_on_a_cluster_names_the_extra_that_it_requires(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'pulumi_kubernetes'", name="pulumi_kubernetes")

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(ImportError, match=re.escape(HINT)):
        # pyrefly: ignore[missing-attribute]
        azure_gpu.__getattr__("GpuCluster")


def test_the_version_is_that_of_the_newest_entry_of_the_changelog() -> None:
    assert version("azure-gpu") == ENTRY.findall((CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"))[0]


@pytest.mark.slow
def test_the_version_of_the_wheel_is_that_of_the_newest_entry_of_the_changelog(wheel: Path) -> None:
    newest = ENTRY.findall((CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"))[0]
    [metadata] = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA")]
    assert f"\nVersion: {newest}\n" in zipfile.ZipFile(wheel).read(metadata).decode()


@pytest.mark.slow
def test_the_wheel_of_the_source_archive_is_the_same(wheel: Path, tmp_path: Path) -> None:
    command = [UV, "build", "-q", "--no-build-isolation", "--python", sys.executable, "-o", tmp_path, "components"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [built] = tmp_path.glob("*.whl")
    ours, theirs = zipfile.ZipFile(wheel), zipfile.ZipFile(built)
    assert {name: ours.read(name) for name in ours.namelist()} == {name: theirs.read(name) for name in theirs.namelist()}


@pytest.mark.slow
def test_an_empty_environment_has_the_library_after_one_install(library: Path, tmp_path: Path) -> None:
    names, installed, hint = printed(library, PRINT_NAMES, tmp_path)
    assert (names, installed) == ("<class 'azure_gpu.batch.pool.pool.BatchPool'>", version("azure-gpu"))
    assert hint == HINT


@pytest.mark.slow
def test_the_installed_catalog_reads_its_data_without_pulumi(library: Path, tmp_path: Path) -> None:
    assert printed(library, PRINT_LOADED, tmp_path) == ["True True"]


@pytest.mark.slow
def test_an_installed_workload_has_the_same_image_tag_as_the_checkouts(library: Path, tmp_path: Path) -> None:
    lines = [line.split() for line in printed(library, PRINT_HASHES, tmp_path)]
    assert [Path(folder).is_relative_to(library.parents[1]) for _, folder, _ in lines] == [True] * len(Workload)
    assert {name: tag for name, _, tag in lines} == {each.value: context_hash(each.context) for each in Workload}


@pytest.mark.slow
def test_the_command_without_its_packages_says_what_to_install(library: Path, tmp_path: Path) -> None:
    done = subprocess.run([library.with_name("azure-gpu"), "sizes"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("is missing; run: pip install 'azure-gpu[operations]'\n")
    assert len(done.stderr.splitlines()) == 1


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
    # Without what it depends on: the tests above have it, and pip would fetch it anew.
    wanted = f"azure-gpu @ git+{repository.as_uri()}#subdirectory=components"
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-deps", wanted], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert printed(python, "import azure_gpu; print(azure_gpu.__version__)", tmp_path) == [version("azure-gpu")]
    assert len(printed(python, PRINT_HASHES, tmp_path)) == len(Workload)
