"""Whether nothing runs is decided by the first start of a state folder, and told to whoever works with it."""

from pathlib import Path

import pytest

from localazure import environment, tls
from localazure.entra import identity as identities
from localazure.errors import CommandError
from localazure.folder import LocalFolder
from localazure.nothing_runs import choice, kubernetes_api
from localazure.weather import state

URL = "https://localhost:40404"


@pytest.fixture
def folder(tmp_path: Path) -> LocalFolder:
    found = LocalFolder(tmp_path / "state")
    found.create()
    return found


def test_the_first_start_decides_it_and_makes_the_weather_calm(folder: LocalFolder) -> None:
    assert not choice.kept(folder)
    assert choice.settle(folder, None, nothing_runs=True)
    folder.database.touch()
    assert choice.settle(folder, None, nothing_runs=False)
    assert choice.settle(folder, "calm", nothing_runs=True)
    assert state.kept(folder.weather) == "calm"


def test_a_folder_whose_azure_runs_things_stays_one(folder: LocalFolder) -> None:
    assert not choice.settle(folder, "rough", nothing_runs=False)
    folder.database.touch()
    with pytest.raises(
        CommandError, match=r"--nothing-runs: .*state belongs to a server without --nothing-runs; use another folder"
    ):
        choice.settle(folder, None, nothing_runs=True)
    assert not choice.kept(folder)
    assert state.kept(folder.weather) == "rough"


def test_rough_weather_is_refused(folder: LocalFolder) -> None:
    with pytest.raises(CommandError, match="remove one of the two"):
        choice.settle(folder, "rough", nothing_runs=True)
    assert not choice.kept(folder)


def test_the_environment_says_so(folder: LocalFolder) -> None:
    identity = identities.load(folder)
    assert not choice.told(environment.variables(folder, identity, URL, {}))
    choice.settle(folder, None, nothing_runs=True)
    found = environment.variables(folder, identity, URL, {})
    assert choice.told(found)
    assert found["KUBECONFIG"] == str(folder.still_kubeconfig)
    environment.write(folder, identity, URL, None)
    assert f"{folder.still_programs}:" in folder.environment.read_text()


def test_what_a_shell_needs_is_there_before_anything_answers(folder: LocalFolder) -> None:
    tls.write_bundle(folder)
    kubernetes_api.install(folder, URL)
    assert folder.still_programs.stat().st_mode & 0o777 == 0o700
    assert (folder.still_programs / "kubelogin").stat().st_mode & 0o777 == 0o700
    assert kubernetes_api.server(URL) in folder.still_kubeconfig.read_text()
