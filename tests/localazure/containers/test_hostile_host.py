"""A server that was started in an environment in which everything of Python's is another's: its containers see none of it."""

import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from localazure.folder import default_cache
from tests.localazure.conftest import new_group
from tests.localazure.containers.sdk import Groups, container_view
from tests.support.embedded import ServedAzure

pytestmark = pytest.mark.slow
# Debian's, which its own pip prints too where this machine is one.
MANAGED = "#!/bin/sh\necho 'error: externally-managed-environment' >&2\nexit 1\n"
WHEEL = {
    "probe.py": "def main():\n    print('probe', __file__)\n",
    "probe-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: probe\nVersion: 1.0\n",
    "probe-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "probe-1.0.dist-info/entry_points.txt": "[console_scripts]\nprobe = probe:main\n",
    "probe-1.0.dist-info/RECORD": "".join(
        f"probe{each},,\n" for each in (".py", *(f"-1.0.dist-info/{file}" for file in ("METADATA", "WHEEL", "entry_points.txt")))
    ),
}
# As the stack `dev` has it, by the name of pip, then by that of its module; then programs of both.
COMMAND = """
pip install --no-cache-dir --quiet --root-user-action=ignore probe && python -c 'import probe; probe.main()' && probe &&
pip3 uninstall --yes --quiet --root-user-action=ignore probe && python3 -m pip install --quiet --root-user-action=ignore probe &&
python3 -c 'import json, os, sys; print(json.dumps([sys.prefix, sys.path, dict(os.environ)]))'
"""


@pytest.fixture
def hostile(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedAzure]:
    programs, wheels, home, modules = (tmp_path / name for name in ("programs", "wheels", "home", "modules"))
    for folder in (programs, wheels, modules, home / ".config" / "pip"):
        folder.mkdir(parents=True)
    for name in ("pip", "pip3", "python", "python3"):
        (programs / name).write_text(MANAGED)
        (programs / name).chmod(0o755)
    with zipfile.ZipFile(wheels / "probe-1.0-py3-none-any.whl", "w") as wheel:
        for name, content in WHEEL.items():
            wheel.writestr(name, content)
    (modules / "probe.py").write_text("raise SystemExit('the host')\n")
    (home / ".config" / "pip" / "pip.conf").write_text("[install]\nuser = true\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(default_cache().parent))
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "LC_ALL": "C",
        "VIRTUAL_ENV": str(programs),
        "CONDA_PREFIX": str(programs),
        "PYTHONPATH": str(modules),
        "PYTHONUSERBASE": str(home),
        "PIP_NO_INDEX": "1",  # by these two packages are reached here
        "PIP_FIND_LINKS": str(wheels),
        "PIP_TARGET": str(home / "packages"),
        "PIP_USER": "1",
    }.items():
        monkeypatch.setenv(name, value)
    server = ServedAzure(tmp_path_factory.mktemp("hostile"))
    yield server
    server.stop()


def test_a_container_installs_packages_by_its_images_pip_for_its_images_python(hostile: ServedAzure) -> None:
    groups = Groups(hostile, None, new_group(hostile))
    groups.image = "mcr.microsoft.com/mirror/docker/library/python:3.11-slim"
    groups.create("one", groups.body(groups.container(command=["sh", "-c", COMMAND])))
    ended = groups.wait_for("one", "Succeeded")
    assert container_view(ended)["currentState"]["exitCode"] == 0
    first, second, told = groups.logs("one").splitlines()
    prefix, path, variables = json.loads(told)
    own = f"{hostile.state}/containers/"
    assert prefix.startswith(own)
    assert [first, second] == [f"probe {prefix}/lib/python3.11/site-packages/probe.py"] * 2
    assert set(variables) == {"HOME", "LANG", "PATH", "TMPDIR", "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "PWD"}
    assert variables["LANG"] == "C.UTF-8"
    assert variables["HOME"].startswith(own)
    [image] = [Path(each) for each in path if each.startswith(str(default_cache()))]
    assert not list(image.glob("probe*")), "the image, which other containers share, is as it was"
