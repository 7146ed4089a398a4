"""The lines of `.local/env`, as a shell reads them."""

import shlex
import subprocess
from pathlib import Path

import pytest

from localazure import environment
from localazure.entra import identity as identities
from localazure.folder import LocalFolder
from localazure.plugin.settings import read_settings

URL = "https://localhost:40404"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "with space", "it's $HOME `id`"])
def test_a_shell_reads_back_what_was_written(tmp_path: Path, name: str) -> None:
    folder = LocalFolder(tmp_path / name)
    folder.create()
    identity = identities.load(folder)
    engine = tmp_path / name / "engine"
    environment.write(folder, identity, URL, engine)
    script = f'. {shlex.quote(str(folder.environment))}; printf "%s\\n" "$PULUMI_HOME" "$PULUMI_CONFIG_PASSPHRASE" "$PATH"'
    shell = subprocess.run(["/bin/sh", "-c", script], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)
    home, passphrase, path = shell.stdout.splitlines()
    assert home == str(folder.pulumi_home)
    assert passphrase == identity.passphrase
    assert path.split(":")[1:] == [str(engine), "/usr/bin", "/bin"]


@pytest.mark.slow
def test_kubectl_and_kubelogin_are_on_path_where_they_are_known_and_sign_in_here(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path / "state")
    folder.create()
    folder.kubernetes_bin.write_text("/opt/kubernetes\n")
    environment.write(folder, identities.load(folder), URL, None)
    script = f'. {shlex.quote(str(folder.environment))}; printf "%s\\n" "$PATH" "$AZURE_AUTHORITY_HOST"'
    shell = subprocess.run(["/bin/sh", "-c", script], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)
    path, authority = shell.stdout.splitlines()
    assert path.split(":")[1:] == ["/opt/kubernetes", "/usr/bin", "/bin"]
    assert authority == f"{URL}/", "kubelogin refuses one without the slash"


def test_the_users_own_proxy_exceptions_stay(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    identity = identities.load(folder)
    found = environment.variables(folder, identity, URL, {"no_proxy": "intranet,localhost"})
    assert found["NO_PROXY"] == "intranet,localhost,127.0.0.1"


def test_the_provider_finds_this_server_without_a_stacks_configuration(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    identity = identities.load(folder)
    found = environment.variables(folder, identity, URL, {})
    settings = read_settings({}, found)
    assert (settings["metadataHost"], settings["disableInstanceDiscovery"]) == ("localhost:40404", "true")
    assert settings["subscriptionId"] == "00000000-0000-0000-0000-000000000000"
    assert (settings["tenantId"], settings["clientId"]) == (identity.tenant_id, identity.client_id)


def test_what_a_folder_is_given_stays_and_differs_from_the_next(tmp_path: Path) -> None:
    first, second = LocalFolder(tmp_path / "a"), LocalFolder(tmp_path / "b")
    for folder in (first, second):
        folder.create()
    assert identities.load(first) == identities.load(first)
    ours, theirs = identities.load(first), identities.load(second)
    for secret in ("client_secret", "admin_token", "passphrase", "signing_key", "tenant_id"):
        assert getattr(ours, secret) != getattr(theirs, secret)
