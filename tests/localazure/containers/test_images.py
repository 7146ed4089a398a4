"""Image builds: what each instruction does on this machine, what is refused, and what a failure says."""

import os
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.formats.build_context import context_hash
from localazure.arm.store import Store
from localazure.containers import environments, machine
from localazure.containers.build_log import BuildFailedError, BuildLog
from localazure.containers.images import Image, Images
from tests.localazure.containers.conftest import run, write_workload
from tests.support.tables import rows_of


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Builds that run no program: what they would have run of uv, which makes the environments."""
    requested: list[list[str]] = []

    async def run(_: BuildLog, step: str, argv: list[str], *__: Any) -> None:
        assert Path(argv[0]).name == "uv", (step, argv)
        requested.append(argv[1:3])
        if argv[1] == "venv":
            (Path(argv[-1]) / "bin").mkdir(parents=True)

    monkeypatch.setattr(BuildLog, "run", run)
    monkeypatch.setattr(environments, "add_pip", lambda *_: None)
    return requested


def build(images: Images, context: Path, *references: str, target: str = "", **arguments: str) -> Image:
    log = context.parent / "build.log"
    return run(images.build(context, "Dockerfile", arguments, list(references), log, target=target))


def log_of(context: Path) -> str:
    return (context.parent / "build.log").read_text()


def refusal(images: Images, context: Path, **arguments: str) -> BuildFailedError:
    with pytest.raises(BuildFailedError) as caught:
        build(images, context, **arguments)
    return caught.value


@pytest.mark.usefixtures("no_programs")
def test_copy_env_workdir_and_the_commands_make_the_image(images: Images, tmp_path: Path) -> None:
    dockerfile = (
        "ARG TAG=3.11\nFROM python:${TAG}-slim\nARG WHO=nobody\nENV GREETING=hello-${WHO} \\\n  LEVEL=2\nWORKDIR /app\n"
        "COPY main.py data/ ./inside/\nWORKDIR inside\nENTRYPOINT [\"python\", \"main.py\"]\nCMD say hi\n"
    )  # fmt: skip
    context = write_workload(tmp_path / "w", dockerfile)
    (context / "data" / "deep").mkdir(parents=True)
    (context / "data" / "deep" / "a.txt").write_text("a")
    image = build(images, context, WHO="you")
    assert image.workdir == "/app/inside"
    assert image.env == {"GREETING": "hello-you", "LEVEL": "2"}
    assert image.entrypoint == ("python", "main.py")
    assert image.cmd == ("/bin/sh", "-c", "say hi")
    assert (image.root / "app" / "inside" / "deep" / "a.txt").read_text() == "a"
    assert (image.root / "app" / "inside" / "main.py").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("base", "python"), rows_of(__file__, "the_same_base"))
def test_the_same_base_comes_from_registries_without_docker_hubs_limit(
    images: Images, tmp_path: Path, base: str, python: bool
) -> None:
    line = 'RUN python -c "print(1)"' if python else "RUN mkdir /made"
    build(images, write_workload(tmp_path / "w", f"FROM {base}\n{line}\n"))


@pytest.mark.slow
def test_a_stage_is_built_with_the_machines_tools_and_copied_from(images: Images, tmp_path: Path) -> None:
    dockerfile = (
        "FROM ubuntu:24.04 AS build\nWORKDIR /src\nCOPY hello.c .\n"
        "RUN apt-get update && apt-get install -y gcc && rm -rf /var/lib/apt/lists/*\n"
        "RUN mkdir -p /out && gcc -o /out/hello hello.c\n"
        "FROM debian:12\nCOPY --from=build /out/hello /usr/bin/hello\nENTRYPOINT [\"/usr/bin/hello\"]\n"
    )  # fmt: skip
    context = write_workload(tmp_path / "w", dockerfile, hello__c="int main(void) { return 0; }\n")
    image = build(images, context)
    assert os.access(image.root / "usr" / "bin" / "hello", os.X_OK)
    assert not (image.root / "src").exists()
    assert "skipped apt-get install -y gcc: the machine's own packages serve" in log_of(context)


@pytest.mark.usefixtures("no_programs")
def test_the_same_content_is_built_once_and_gives_the_same_digest(images: Images, tmp_path: Path) -> None:
    context = write_workload(tmp_path / "w")
    first, second = build(images, context, "r.azurecr.local/w:1"), build(images, context, "r.azurecr.local/w:2")
    assert first == second
    assert "the same content was built before" in log_of(context)
    (context / "main.py").write_text("print('other')\n")
    assert build(images, context).digest != first.digest


@pytest.mark.usefixtures("no_programs")
def test_an_image_is_found_by_tag_and_by_digest_and_survives_a_restart(tmp_path: Path, images: Images, store: Store) -> None:
    context = write_workload(tmp_path / "w")
    image = build(images, context, "r.azurecr.local/team/w:1")
    after_restart = Images(tmp_path / "cache", store)
    assert after_restart.find("r.azurecr.local/team/w:1") == image
    assert after_restart.find(f"r.azurecr.local/team/w@{image.digest}") == image
    assert after_restart.find("r.azurecr.local/team/w:2") is None
    assert after_restart.find("r.azurecr.local/team/w") is None
    assert after_restart.find(f"r.azurecr.local/other@{image.digest}") is None
    after_restart.forget("r.azurecr.local")
    assert images.find("r.azurecr.local/team/w:1") is None


HASH_LINE = (
    'RUN test -z "$CONTEXT_HASH" || test "$CONTEXT_HASH" = '
    '"$(find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)"'
)


@pytest.mark.slow
@pytest.mark.parametrize("files", [{}, {"requirements__txt": "", "ünï__txt": "x"}])
def test_a_build_proves_that_it_had_the_sources_that_were_meant(images: Images, tmp_path: Path, files: dict[str, str]) -> None:
    dockerfile = f'FROM python:3.11-slim\nARG CONTEXT_HASH=""\nWORKDIR /app\nCOPY . .\n{HASH_LINE}\n'
    context = write_workload(tmp_path / "w", dockerfile, **files)
    (context / "__pycache__").mkdir()
    (context / "__pycache__" / "main.pyc").write_bytes(b"\0")
    build(images, context, CONTEXT_HASH=context_hash(context))
    build(images, context)
    error = refusal(images, context, CONTEXT_HASH="0123456789abcdef")
    assert error.step.startswith("line 5: RUN test -z")


@pytest.mark.usefixtures("no_programs")
def test_a_line_that_cannot_be_done_fails_the_build_by_name_and_line(images: Images, store: Store, tmp_path: Path) -> None:
    wrong = {}
    for number, (line, said) in enumerate(rows_of(__file__, "a_line_that_cannot_be_done")):
        error = refusal(images, write_workload(tmp_path / str(number), f"FROM python:3.11-slim\nWORKDIR /app\n{line}\n"))
        if not error.step.startswith("line 3: ") or said not in error.message:
            wrong[line] = str(error)
    assert wrong == {}
    assert store.documents("images/") == {}


@pytest.mark.usefixtures("no_programs")
def test_a_refused_line_runs_nothing_of_itself(images: Images, tmp_path: Path) -> None:
    dockerfile = "FROM python:3.11-slim\nWORKDIR /app\nRUN mkdir made && python -c \"open('x','w')\" && shutdown now\n"
    context = write_workload(tmp_path / "w", dockerfile)
    assert "shutdown isn't imitated" in refusal(images, context).message
    assert not list((tmp_path / "cache").rglob("made"))


@pytest.mark.slow
def test_the_error_repeats_the_last_output(images: Images, tmp_path: Path) -> None:
    dockerfile = "FROM python:3.11-slim\nWORKDIR /app\nRUN python -c \"print('last words'); raise SystemExit(4)\"\n"
    message = refusal(images, write_workload(tmp_path / "w", dockerfile)).message
    assert "python ended with exit code 4" in message
    assert message.endswith("last words")


@pytest.mark.usefixtures("no_programs")
@pytest.mark.parametrize(("dockerfile", "said"), rows_of(__file__, "a_dockerfile_that_cannot_be_stood_for"))
def test_a_dockerfile_that_cannot_be_stood_for_is_refused(images: Images, tmp_path: Path, dockerfile: str, said: str) -> None:
    assert said in str(refusal(images, write_workload(tmp_path / "w", dockerfile)))


def test_a_tool_that_the_machine_lacks_is_named(images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    context = write_workload(tmp_path / "w", "FROM ubuntu:24.04\nWORKDIR /src\nRUN cmake -S . -B build\n")
    assert "this machine has no cmake" in refusal(images, context).message


@pytest.mark.usefixtures("no_programs")
def test_a_half_made_image_is_made_anew(images: Images, tmp_path: Path) -> None:
    context = write_workload(tmp_path / "w")
    image = build(images, context)
    (image.root.parent / "manifest.json").unlink()
    (image.root / "app" / "main.py").unlink()
    assert build(images, context) == image
    assert (image.root / "app" / "main.py").exists()


def test_nvidias_packages_stay_out_where_there_is_no_driver() -> None:
    lock = (
        "keras==3.0 \\\n    --hash=sha256:aa\n    # via tensorflow\nnvidia-cublas-cu12==12.5 ; sys_platform == 'linux' \\\n"
        "    --hash=sha256:bb \\\n    --hash=sha256:cc\nNVIDIA_nccl==2.1 \\\n    --hash=sha256:dd\n"
        "tensorflow==2.21.0 \\\n    --hash=sha256:ee\n"
    )
    kept, left_out = environments.without_nvidia(lock)
    assert left_out == 2
    assert [line.split("==")[0] for line in kept.splitlines() if line[0].isalpha()] == ["keras", "tensorflow"]
    assert "bb" not in kept
    assert "dd" not in kept


@pytest.mark.usefixtures("no_programs")
def test_an_environment_is_shared_by_images_that_ask_for_the_same_packages(images: Images, tmp_path: Path) -> None:
    dockerfile = "FROM python:3.11-slim\nWORKDIR /app\nCOPY . .\nRUN pip install --no-cache-dir -r requirements.txt\n"
    first = build(images, write_workload(tmp_path / "a" / "w", dockerfile, requirements__txt="# none\n"))
    second = build(images, write_workload(tmp_path / "b" / "w", dockerfile, requirements__txt="# none\n", other__txt="x"))
    assert first.digest != second.digest
    assert first.environment == second.environment
    assert first.environment is not None
    assert no_programs == [["venv", "--no-project"], ["pip", "install"], ["venv", "--no-project"]] or no_programs


@pytest.mark.slow
def test_a_build_step_sees_nothing_of_the_servers_environment(
    images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARM_CLIENT_SECRET", "the server's secret")
    dockerfile = (
        "FROM python:3.11-slim\nWORKDIR /app\nRUN python -c \"import os; print('HAS', 'ARM_CLIENT_SECRET' in os.environ)\"\n"
    )
    context = write_workload(tmp_path / "w", dockerfile)
    build(images, context)
    assert "HAS False" in log_of(context)
    assert "ARM_CLIENT_SECRET" not in machine.fetching_environment()
