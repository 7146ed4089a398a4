"""What a container, a build step and a fetching step get of this machine's environment, whatever that has in it."""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from azure_gpu.formats import git
from azure_gpu.formats.dockerfile import substitute
from localazure.containers import environments, machine, shim_python
from localazure.containers.build_log import BuildLog
from localazure.containers.builder import Built
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.image_tree import ImageTree
from localazure.containers.images import Image
from localazure.containers.runtime import what_runs

# What a developer's shell or a runner has, each of which would change what a program in a container does.
HOSTILE: Mapping[str, str] = {
    "PATH": "/opt/conda/bin:/home/me/.pyenv/shims:/usr/bin",
    "HOME": "/home/me",
    "LANG": "de_DE.ISO-8859-1",
    "LC_ALL": "de_DE.ISO-8859-1",
    "TMPDIR": "/home/me/tmp",
    "VIRTUAL_ENV": "/home/me/.venv",
    "CONDA_PREFIX": "/opt/conda",
    "PYTHONPATH": "/home/me/modules",
    "PYTHONHOME": "/opt/python",
    "PYTHONUSERBASE": "/home/me/.local",
    "PYTHONSTARTUP": "/home/me/.pythonrc",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PIP_TARGET": "/home/me/packages",
    "PIP_USER": "1",
    "PIP_REQUIRE_VIRTUALENV": "1",
    "PIP_CONSTRAINT": "/home/me/constraints.txt",
    "PIP_CONFIG_FILE": "/home/me/pip.conf",
    "UV_SYSTEM_PYTHON": "1",
    "UV_REQUIRE_HASHES": "1",
    "UV_EXCLUDE_NEWER": "2020-01-01",
    "UV_CONSTRAINT": "/home/me/constraints.txt",
    "UV_WORKING_DIRECTORY": "/home/me",
    "NODE_OPTIONS": "--require /home/me/hook.js",
    "npm_config_prefix": "/home/me/.npm-global",
    "GIT_CONFIG_GLOBAL": "/home/me/.gitconfig",
    "GIT_DIR": "/home/me/.git",
    "LD_PRELOAD": "/home/me/hook.so",
    "AWS_SECRET_ACCESS_KEY": "secret",
}
# By what packages are reached from here.
REACHED: Mapping[str, str] = {
    "PIP_INDEX_URL": "https://packages.example.com/simple",
    "PIP_EXTRA_INDEX_URL": "https://a.example.com\nhttps://b.example.com",
    "PIP_DEFAULT_TIMEOUT": "90",
    "UV_DEFAULT_INDEX": "https://packages.example.com/simple",
    "UV_HTTP_TIMEOUT": "90",
    "SSL_CERT_FILE": "/etc/company.pem",
    "https_proxy": "http://proxy.example.com:8080",
    "NO_PROXY": "localhost",
}


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in {**HOSTILE, **REACHED}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def image(tmp_path: Path) -> Image:
    """With the environment of a Python that has one script of each form, and a program that isn't a script."""
    environment = tmp_path / "image"
    (environment / "bin").mkdir(parents=True)
    (environment / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / "bin" / "python3.11").symlink_to("python")
    (environment / "bin" / "tool").write_text(f"#!{environment}/bin/python\nimport tool\n")
    (environment / "bin" / "deep").write_text(
        f"#!/bin/sh\n'''exec' '{environment}/bin/python' \"$0\" \"$@\"\n' '''\nimport deep\n"
    )
    (environment / "bin" / "shell").write_text("#!/bin/sh\nexec true\n")
    (environment / "bin" / "binary").write_bytes(b"\x7fELF")
    root = tmp_path / "root"
    root.mkdir()
    return Image(digest="sha256:0", root=root, environment=environment, entrypoint=(), cmd=(), env={}, workdir="/")


def variables(image: Image, folder: Path, **env: str) -> dict[str, str]:
    spec = ContainerSpec(name="main", image=image, command=("true",), env=env, run="1")
    found: dict[str, str] = spec.on_disk(folder)["env"]
    return found


@pytest.mark.usefixtures("host")
def test_a_containers_variables_are_its_own_and_its_python_comes_before_any_of_the_machine(image: Image, tmp_path: Path) -> None:
    folder = tmp_path / "main"
    own = {
        "HOME": f"{folder}/home",
        "TMPDIR": f"{folder}/home",
        "LANG": "C.UTF-8",
        "NVIDIA_VISIBLE_DEVICES": "void",
        "CUDA_VISIBLE_DEVICES": "",
    }
    with_python = {**own, "PATH": f"{folder}/python/bin:{image.environment}/bin:{machine.SYSTEM_PATH}"}
    assert variables(image, folder) == with_python
    assert variables(replace(image, environment=None), folder) == {**own, "PATH": machine.SYSTEM_PATH}
    assert variables(image, folder, A="b") == {**with_python, "A": "b"}


def test_programs_that_came_with_an_image_are_found_before_the_machines(image: Image, tmp_path: Path) -> None:
    plain = replace(image, environment=None)
    (image.root / "usr" / "local" / "bin").mkdir(parents=True)
    own = f"{tmp_path}/main/root"
    shown = machine.SYSTEM_PATH.replace("/usr", f"{own}/usr")
    machines = ":".join(part for part in machine.SYSTEM_PATH.split(":") if part.startswith("/usr"))
    assert variables(plain, tmp_path / "main")["PATH"] == f"{shown}:{machines}"
    (image.root / "opt").mkdir()
    told = replace(plain, env={"PATH": "/opt/tool/bin:/usr/bin"})
    assert variables(told, tmp_path / "main")["PATH"] == f"{own}/opt/tool/bin:{own}/usr/bin:/usr/bin"


def test_a_dockerfile_adds_to_the_path_of_its_base(tmp_path: Path) -> None:
    assert substitute("/opt/tool/bin:$PATH", Built(ImageTree(tmp_path)).known) == f"/opt/tool/bin:{machine.SYSTEM_PATH}"


@pytest.mark.usefixtures("host")
def test_pip_in_a_container_and_uv_in_a_build_keep_what_packages_are_reached_by_and_nothing_else(tmp_path: Path) -> None:
    assert machine.pip_settings(os.environ) == {
        "index-url": "https://packages.example.com/simple",
        "extra-index-url": "https://a.example.com https://b.example.com",
        "cert": "/etc/company.pem",
        "proxy": "http://proxy.example.com:8080",
        "timeout": "90",
    }
    assert set(machine.fetching_environment()) == {
        *("PATH", "HOME"),  # by which uv finds its own settings and cache
        *("UV_DEFAULT_INDEX", "UV_HTTP_TIMEOUT", "SSL_CERT_FILE", "https_proxy", "NO_PROXY"),
    }
    assert machine.build_environment(tmp_path) == {
        "PATH": HOSTILE["PATH"],  # images are built with the machine's compilers
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "LANG": "C.UTF-8",
    }


@pytest.mark.usefixtures("host")
def test_git_is_asked_about_the_folder_that_is_named_and_as_the_user_has_set_it_up() -> None:
    told = git.environment()
    assert (told.get("GIT_DIR"), told["GIT_CONFIG_GLOBAL"]) == (None, HOSTILE["GIT_CONFIG_GLOBAL"])


@pytest.mark.usefixtures("host")
def test_how_pip_reaches_packages_starts_no_container_again(image: Image, tmp_path: Path) -> None:
    spec = ContainerSpec(name="main", image=image, command=("true",), env={}, run="1")
    before = spec.on_disk(tmp_path)
    os.environ["PIP_INDEX_URL"] = "https://other.example.com/simple"
    assert before["pip"] != spec.on_disk(tmp_path)["pip"]
    assert what_runs(before) == what_runs(spec.on_disk(tmp_path))


def test_the_containers_python_sees_the_images_packages_and_starts_its_scripts(image: Image, tmp_path: Path) -> None:
    folder = tmp_path / "python"
    shim_python.make(str(folder), str(image.environment), {"index-url": "https://packages.example.com/simple"})
    assert (folder / "bin" / "python").resolve() == Path(sys.executable).resolve()
    assert (folder / "pyvenv.cfg").read_text() == "home = /usr/bin\n"
    assert (folder / "pip.conf").read_text() == "[global]\nindex-url = https://packages.example.com/simple\n"
    [paths] = (folder / "lib" / "python3.11" / "site-packages").iterdir()
    assert f"'{image.environment}/lib/python3.11/site-packages'" in paths.read_text()
    scripts = {each.name: each.read_text().splitlines()[1:] for each in (folder / "bin").iterdir() if "python" not in each.name}
    start = [f'\'\'\'exec\' "{folder}/bin/python" "$0" "$@"', "' '''"]
    assert scripts == {"tool": [*start, "import tool"], "deep": [*start, "import deep"]}


def test_an_environment_gets_pip_under_each_of_its_names_and_keeps_one_that_its_requirements_brought(
    image: Image, tmp_path: Path
) -> None:
    assert image.environment is not None
    packages = image.environment / "lib" / "python3.11" / "site-packages"
    log = BuildLog(tmp_path / "log")
    environments.add_pip(image.environment, log)
    for name in ("pip", "pip3", "pip3.11"):
        assert (image.environment / "bin" / name).read_text().startswith(f"#!{image.environment}/bin/python\n")
    assert (packages / "pip" / "__main__.py").is_file()
    (packages / "pip" / "__main__.py").write_text("its own")
    environments.add_pip(image.environment, log)
    log.close()
    assert (packages / "pip" / "__main__.py").read_text() == "its own"
