"""A warm Python is this run's Python to whoever calls it: words, files, exit status, signals, and an end with its caller."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support import warm_python
from tests.support.embedded import CHECKOUT, until
from tests.support.patience import SECONDS

pytestmark = pytest.mark.slow  # it loads everything that the engine's programs load
PROVIDER = ["-m", "localazure.plugin"]


@pytest.mark.parametrize(
    "words",
    [
        ["-m", "operations", "sizes", "--help"],
        ["-m", "operations", "no-such-verb"],
        ["-m", "operations", "preview", "--stack", "no-such-stack"],
        ["-m", "pip", "list", "-v", "--format", "json"],
        ["-c", "import os, sys; print(os.getcwd(), sys.argv, sys.flags.isolated); sys.exit(7)", "a b"],
    ],
)
def test_a_command_says_and_ends_as_it_does_without(words: list[str], tmp_path: Path) -> None:
    environment = {**os.environ, "PULUMI_BACKEND_URL": f"file://{tmp_path}", "PULUMI_HOME": str(tmp_path), "COLUMNS": "100"}
    cold, warm = (
        subprocess.run(
            [each, *words], cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        for each in (sys.executable, warm_python.python())
    )
    assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr)


def test_a_script_gets_its_words_environment_and_standard_input(tmp_path: Path) -> None:
    script = tmp_path / "language-exec"
    script.write_text(
        "import os, sys\nprint(sys.argv, sys.path[:2], os.environ['SAID'], sys.stdin.read(), __name__)\n"
        "print('!', file=sys.stderr)\nraise RuntimeError('so')\n"
    )
    done = subprocess.run(
        [warm_python.python(), script, "one", "two"],
        cwd=tmp_path,
        env={**os.environ, "SAID": "yes", "PYTHONPATH": "/named"},
        input="given",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout == f"{[str(script), 'one', 'two']} {[str(tmp_path), '/named']} yes given __main__\n"
    assert done.stderr.startswith("!\nTraceback")
    assert done.stderr.endswith("RuntimeError: so\n")
    assert done.returncode == 1


def test_a_path_that_names_a_copy_of_the_checkout_gets_its_modules(tmp_path: Path) -> None:
    copy = tmp_path / "azure_gpu" / "__init__.py"
    copy.parent.mkdir()
    copy.write_text("")
    script = tmp_path / "program" / "language-exec"
    script.parent.mkdir()
    script.write_text("import azure_gpu, pulumi\nprint(azure_gpu.__file__)\n")
    found = [
        subprocess.run([warm_python.python(), script], env={**os.environ, **path}, stdout=subprocess.PIPE, text=True, check=True)
        for path in ({}, {"PYTHONPATH": str(tmp_path)})
    ]
    own = CHECKOUT / "components" / "azure_gpu" / "__init__.py"
    assert [each.stdout.strip() for each in found] == [str(own), str(copy)]


def answers(port: int) -> bool:
    with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_provider_ends_with_the_signals_that_its_caller_sends(number: int, status: int) -> None:
    provider = subprocess.Popen([warm_python.python(), *PROVIDER], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
    assert provider.stdout is not None
    with provider.stdout as output:
        port = int(output.readline())
        assert answers(port)
        provider.send_signal(number)
        assert provider.wait(timeout=SECONDS) == status
        until(lambda: not answers(port), "the provider is gone")


def test_a_provider_ends_when_its_engine_is_gone() -> None:
    command = f"{warm_python.python()} -m localazure.plugin & wait"
    engine = subprocess.Popen(["sh", "-c", command], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
    assert engine.stdout is not None
    with engine.stdout as output:
        port = int(output.readline())
        engine.kill()
        engine.wait()
        until(lambda: not answers(port), "the provider is gone")
