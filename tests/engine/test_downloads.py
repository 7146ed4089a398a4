"""Archives that are downloaded from a mirror on loopback: whole, cut off, changed, late and not at all."""

import errno
import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from engine import download
from tests.engine.download_site import Mirror, breaks_off_after, mirror, tar, zipped
from tests.engine.pretended_machine import PINNED, Machine, Result

pytestmark = pytest.mark.slow
PULUMI = f"https://get.pulumi.com/releases/sdk/pulumi-{PINNED}-linux-x64.tar.gz"
FILES = {
    "pulumi/pulumi": f"#!/bin/sh\necho {PINNED}\n",
    "pulumi/pulumi-language-python": "#!/bin/sh\n",
    "pulumi/pulumi-language-python-exec": "# runs the program\n",
    "pulumi/pulumi-language-nodejs": "#!/bin/sh\n",
    "pulumi/README.md": "read me\n" * 4000,
}
K8S = "https://dl.k8s.io/release/v1.36.2/bin/linux/amd64"
KUBERNETES = {
    **{
        f"{K8S}/{name}": f"#!/bin/sh\necho Kubernetes v1.36.2 {name}\n".encode()
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
    },
    "https://github.com/etcd-io/etcd/releases/download/v3.6.8/etcd-v3.6.8-linux-amd64.tar.gz": tar(
        {"etcd-v3.6.8-linux-amd64/etcd": "#!/bin/sh\necho etcd Version: 3.6.8\n", "etcd-v3.6.8-linux-amd64/etcdctl": ""}
    ),
    "https://github.com/Azure/kubelogin/releases/download/v0.2.13/kubelogin-linux-amd64.zip": zipped(
        {"bin/linux_amd64/kubelogin": "#!/bin/sh\necho v0.2.13\n"}
    ),
}


@pytest.fixture(name="server")
def _server() -> Iterator[Mirror]:
    with mirror() as found:
        yield found


@pytest.fixture(name="archive")
def _archive(machine: Machine, server: Mirror) -> bytes:
    """Pulumi's, pinned and served. The machine has Go, so it could build."""
    machine.has_go()
    content = tar(FILES)
    machine.pin(server.put(PULUMI, content))
    return content


def run(machine: Machine, server: Mirror, tool: str = "pulumi", **environment: str) -> Result:
    return machine.run(tool, AZURE_GPU_MIRROR=server.url, **environment)


def official(machine: Machine, name: str = f"pulumi-{PINNED.removeprefix('v')}") -> Path:
    return machine.cache / f"official-{name}"


def test_an_archive_is_taken_in_place_of_a_build_and_again_without_a_word(
    machine: Machine, server: Mirror, archive: bytes
) -> None:
    result = run(machine, server)
    assert (result.returncode, result.stdout, machine.builds()) == (0, f"{official(machine)}\n", [])
    assert f"pulumi {PINNED} is its publisher's" in result.stderr
    assert sorted(each.name for each in official(machine).iterdir()) == [
        "official", "pulumi", "pulumi-language-nodejs", "pulumi-language-python", "pulumi-language-python-exec",
    ]  # fmt: skip
    assert list((machine.cache / "downloads").iterdir()) == []
    asked = len(server.asked)
    again = run(machine, server)
    assert (again.returncode, again.stdout, again.stderr) == (0, f"{official(machine)}\n", "")
    assert run(machine, server, "languages").stdout == f"{official(machine)}\n"
    assert len(server.asked) == asked
    assert run(machine, server, AZURE_GPU_TOOLS="build").stdout == f"{machine.built}\n"


def test_another_pin_is_another_folder_content(machine: Machine, server: Mirror, archive: bytes) -> None:
    run(machine, server)
    newer = tar({**FILES, "pulumi/pulumi-language-yaml": ""})
    machine.pin(server.put(PULUMI, newer))
    run(machine, server)
    assert (official(machine) / "pulumi-language-yaml").exists()


def test_what_is_not_what_was_pinned_is_an_error_and_never_used(machine: Machine, server: Mirror, archive: bytes) -> None:
    changed = archive[:-1] + b"?"
    server.put(PULUMI, changed)
    result = run(machine, server)
    assert (result.returncode, result.stdout, machine.builds()) == (1, "", [])
    assert result.stderr.splitlines()[-1] == (
        f"{server.url}/{PULUMI.removeprefix('https://')}: its SHA-256 is {hashlib.sha256(changed).hexdigest()}, but "
        f"{hashlib.sha256(archive).hexdigest()} is pinned in engine/official.tsv; it was deleted. Try again, or set "
        "AZURE_GPU_TOOLS=build to build from source"
    )
    assert not official(machine).exists()
    assert list((machine.cache / "downloads").iterdir()) == []


def test_a_download_that_breaks_off_goes_on_where_it_was(machine: Machine, server: Mirror, archive: bytes) -> None:
    server.rules = [breaks_off_after(100), breaks_off_after(50)]
    assert run(machine, server).returncode == 0
    name = PULUMI.rpartition("/")[2]
    assert server.asked == [name, f"{name} bytes=100-", f"{name} bytes=150-"]


def test_the_next_run_goes_on_too(machine: Machine, server: Mirror, archive: bytes) -> None:
    server.rules = [breaks_off_after(100), *[breaks_off_after(0)] * 5]
    result = run(machine, server, AZURE_GPU_TOOLS="official")
    assert (result.returncode, result.stderr.splitlines()[-1].endswith("ends before the file does")) == (1, True)
    server.asked.clear()
    assert run(machine, server).returncode == 0
    assert server.asked[0].endswith(" bytes=100-")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("404", "answers 404"),
        ("nobody listens", "can't be reached"),
        ("no answer", "doesn't answer in time"),
        ("a page", "answers a page of HTML in place of the file: a proxy or a sign-in page is in between"),
    ],
)
def test_where_it_cannot_be_had_it_is_built(machine: Machine, server: Mirror, archive: bytes, kind: str, said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # which accepts connections and answers none
        urls = {"nobody listens": "http://127.0.0.1:9", "no answer": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        if kind == "404":
            server.files.clear()
        if kind == "a page":
            server.put(PULUMI, b"<html>Sign in</html>")
        result = machine.run(AZURE_GPU_MIRROR=urls.get(kind, server.url))
    assert (result.returncode, result.stdout) == (0, f"{machine.built}\n")
    [line] = [each for each in result.stderr.splitlines() if each.endswith("; building it")]
    assert said in line


def test_a_program_that_does_not_run_here_is_built(machine: Machine, server: Mirror) -> None:
    machine.has_go()
    machine.pin(server.put(PULUMI, tar({**FILES, "pulumi/pulumi": "#!/bin/sh\nexit 1\n"})))
    result = run(machine, server)
    assert result.stdout == f"{machine.built}\n"
    assert "the published pulumi doesn't run here: `pulumi version` answers nothing" in result.stderr


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "No space left on device; free some space, or set XDG_CACHE_HOME to a folder of another disk"),
        (errno.EROFS, "Read-only file system; set XDG_CACHE_HOME to a folder that you can write to"),
    ],
)
def test_a_disk_that_takes_nothing_is_a_line(machine: Machine, server: Mirror, archive: bytes, number: int, said: str) -> None:
    error = OSError(number, errno.errorcode[number], "/cache/file")
    error.strerror = said.partition(";")[0]
    with mock.patch.object(download, "_put", side_effect=error):
        result = run(machine, server)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines()[-1] == f"/cache/file: {said}"
    assert not official(machine).exists()


def test_kubernetes_is_downloaded_and_the_projects_own_part_is_built(machine: Machine, server: Mirror) -> None:
    machine.has_go()
    machine.has("kubectl", "Client Version: v1.36.9")
    sums = {key: value for address, content in KUBERNETES.items() for key, value in server.put(address, content).items()}
    machine.pin(sums)
    result = run(machine, server, "kubernetes")
    folder = official(machine, "kubernetes-1.36.2")
    assert (result.returncode, result.stdout, machine.builds()) == (0, f"{folder}\n", ["node-streams"])
    assert {each.name for each in folder.iterdir()} == {
        "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelogin", "node-streams", "official",
    }  # fmt: skip
    assert (folder / "kubectl").readlink() == machine.path / "kubectl"
    assert "kubectl" not in server.asked, "what PATH has isn't downloaded"
    (folder / "etcd").write_text("#!/bin/sh\nexit 1\n")
    assert run(machine, server, "kubernetes").stdout == f"{folder}\n"
    assert (folder / "etcd").read_text().endswith("3.6.8\n"), "one that doesn't run any more is made anew"


def test_a_provider_plugin_lies_as_in_a_home_of_pulumi(machine: Machine, server: Mirror) -> None:
    from engine.provider_tools import AZURE_NATIVE

    address = AZURE_NATIVE.ARCHIVES[0].on("linux-x86_64")
    assert address is not None
    machine.pin(server.put(address, tar({"pulumi-resource-azure-native": "a program", "LICENSE": ""})))
    folder = official(machine, f"azure-native-{AZURE_NATIVE.VERSION}")
    assert run(machine, server, "azure-native").stdout == f"{folder}\n"
    program = folder / "plugins" / f"resource-azure-native-v{AZURE_NATIVE.VERSION}" / "pulumi-resource-azure-native"
    assert program.read_text() == "a program"


def test_pinning_takes_the_publishers_files_and_says_what_they_lack(machine: Machine, server: Mirror, archive: bytes) -> None:
    sums = f"https://get.pulumi.com/releases/sdk/pulumi-{PINNED.removeprefix('v')}-checksums.txt"
    server.put(sums, f"{hashlib.sha256(archive).hexdigest()}  pulumi-{PINNED}-linux-x64.tar.gz\n".encode())
    result = run(machine, server, "--pin")
    assert result.returncode == 1
    assert machine.pins.read_text().splitlines()[1:] == [f"{PULUMI}\t{hashlib.sha256(archive).hexdigest()}\t{sums}"]
    assert f"{sums} has no SHA-256 of pulumi-{PINNED}-darwin-arm64.tar.gz" in result.stderr
    assert result.stderr.splitlines()[-1] == "1 checksums in official.tsv, 22 missing"
    pinned = machine.pins.read_text()
    server.files.clear()
    assert run(machine, server, "--pin").returncode == 1
    assert machine.pins.read_text() == pinned, "without the network no row is lost"
