"""The table of the publishers' archives, their checksums, and which way a tool is had. Nothing is downloaded here."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from engine import command, download, official
from engine.official import LINUX, PLATFORMS, Archive, Pinned
from tests.engine.download_site import tar, zipped
from tests.engine.pretended_machine import PINNED, Machine

SUM = "ab" * 32
ONE = Archive("https://example.com/{platform}/tool.tar.gz", "https://example.com/sums", ("tool", "tool-*"), {LINUX: "linux-x64"})


def test_every_address_on_every_platform() -> None:
    """As the publishers' pages and release workflows have them; see the tools' own modules."""
    found = {
        tool: [archive.on(name) for archive in tools.ARCHIVES for name in PLATFORMS if archive.on(name)]
        for tool, tools in command.TOOLS.items()
        if hasattr(tools, "ARCHIVES") and tool != "languages"
    }
    plugins = {"azure-native": "azure-native", "kubernetes-provider": "kubernetes"}
    releases = "https://get.pulumi.com/releases"
    go_names = ("linux-amd64", "linux-arm64", "darwin-arm64")
    k8s = "https://dl.k8s.io/release/v1.36.2/bin"
    assert found == {
        "pulumi": [f"{releases}/sdk/pulumi-{PINNED}-{each}.tar.gz" for each in ("linux-x64", "linux-arm64", "darwin-arm64")],
        "kubernetes": [
            *(
                f"{k8s}/{each}/{program}"
                for program in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
                for each in ("linux/amd64", "linux/arm64")
            ),
            *(f"{k8s}/{each}/kubectl" for each in ("linux/amd64", "linux/arm64", "darwin/arm64")),
            *(
                f"https://github.com/etcd-io/etcd/releases/download/v3.6.8/etcd-v3.6.8-{each}.tar.gz"
                for each in ("linux-amd64", "linux-arm64")
            ),
            *(f"https://github.com/Azure/kubelogin/releases/download/v0.2.13/kubelogin-{each}.zip" for each in go_names),
        ],
        **{
            tool: [f"{releases}/plugins/pulumi-resource-{name}-v{version(f'pulumi-{name}')}-{each}.tar.gz" for each in go_names]
            for tool, name in plugins.items()
        },
    }


def test_the_committed_checksums_are_of_archives_that_are_known_each_from_its_publishers_file() -> None:
    known = {
        (archive.on(name), archive.checksums.format(platform=archive.platforms[name]))
        for tools in command.TOOLS.values()
        for archive in getattr(tools, "ARCHIVES", ())
        for name in archive.platforms
    }
    rows = [line.split("\t") for line in official.PINS.read_text().splitlines()]
    assert rows[0] == ["address", "sha256", "source"]
    assert [row for row in rows[1:] if (row[0], row[2]) not in known or not re.fullmatch("[0-9a-f]{64}", row[1])] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{SUM}  tool.tar.gz\n", SUM),
        (f"{'cd' * 32}  other.tar.gz\n{SUM}  ./tool.tar.gz\n", SUM),
        (f"{SUM} *tool.tar.gz", SUM),
        (f"{SUM}\n", SUM),
        (f"{'ab' * 20}  tool.tar.gz\n", None),
        (f"{SUM}  tool.tar.gz.sig\n", None),
        ("<html>", None),
        ("", None),
    ],
    ids=["a list", "with ./", "binary mode", "the sum alone", "SHA-1", "another file", "HTML", "nothing"],
)
def test_a_sum_is_found_in_what_publishers_write(text: str, expected: str | None) -> None:
    assert official.published_sum(text, "tool.tar.gz") == expected


def test_one_archive_without_a_sum_leaves_the_others_without_use(tmp_path: Path) -> None:
    pins = tmp_path / "pins"
    other = Archive("https://example.com/other", "https://example.com/sums", ("other",), {LINUX: ""})
    pins.write_text(official.written([("https://example.com/linux-x64/tool.tar.gz", SUM, "a source")]))
    [found] = official.pinned([ONE], LINUX, pins)
    assert isinstance(found, Pinned)
    assert (found.sha256, found.file, found.host) == (SUM, "tool.tar.gz", "example.com")
    assert official.pinned([ONE, other], LINUX, pins) == "no checksum is pinned for https://example.com/other"
    assert official.pinned([ONE], "darwin-arm64", pins) == "tool isn't published for darwin-arm64"
    assert official.pinned([], LINUX, pins) == "nothing of it is published"


@pytest.mark.parametrize("pack", [tar, zipped])
def test_the_programs_are_taken_out_and_nothing_else(tmp_path: Path, pack: type) -> None:
    file = "tool.tar.gz" if pack is tar else "tool.zip"
    archive = tmp_path / file
    archive.write_bytes(pack({"a/b/tool": "1", "a/tool-more": "2", "a/README": "3", "../../tool-outside": "4"}))
    folder = tmp_path / "programs"
    folder.mkdir()
    download.unpack(Pinned(ONE, f"https://example.com/{file}", SUM), archive, folder)
    assert {each.name: (each.read_text(), each.stat().st_mode & 0o777) for each in folder.iterdir()} == {
        "tool": ("1", 0o755),
        "tool-more": ("2", 0o755),
        "tool-outside": ("4", 0o755),
    }
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([file, "programs"])


def test_an_archive_without_its_program_is_not_taken(tmp_path: Path) -> None:
    archive = tmp_path / "tool.tar.gz"
    archive.write_bytes(tar({"README": "1"}))
    with pytest.raises(download.NotThereError, match="has no tool in it"):
        download.unpack(Pinned(ONE, "https://example.com/tool.tar.gz", SUM), archive, tmp_path)


@pytest.mark.parametrize(
    ("mirror", "address"),
    [("", "https://get.pulumi.com/a"), ("http://mirror/files/", "http://mirror/files/get.pulumi.com/a")],
    ids=["none", "a mirror"],
)
def test_a_mirror_has_the_archives_under_their_publishers_hosts(
    monkeypatch: pytest.MonkeyPatch, mirror: str, address: str
) -> None:
    monkeypatch.setenv(download.MIRROR, mirror)
    assert download.mirrored("https://get.pulumi.com/a") == address


def test_a_mirror_that_is_no_address_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(download.MIRROR, "mirror.example.com/files")
    with pytest.raises(download.NotThereError) as raised:
        download.mirrored("https://get.pulumi.com/a")
    assert str(raised.value) == "AZURE_GPU_MIRROR is 'mirror.example.com/files'; it takes https://HOST/PATH"


def test_without_checksums_a_tool_is_built_as_before(machine: Machine) -> None:
    machine.has_go()
    result = machine.run()
    assert (result.returncode, result.stdout) == (0, f"{machine.built}\n")
    assert (
        f"no checksum is pinned for https://get.pulumi.com/releases/sdk/pulumi-{PINNED}-linux-x64.tar.gz; building it"
        in result.stderr
    )


@pytest.mark.parametrize(
    ("choice", "code", "said"),
    [
        ("path", 1, "AZURE_GPU_TOOLS is path, so pulumi is neither downloaded nor built"),
        ("official", 1, "no checksum is pinned for https://get.pulumi.com/"),
        ("download", 2, "AZURE_GPU_TOOLS is 'download'; it takes path, official, build, or nothing"),
    ],
)
def test_a_way_that_is_closed_ends_in_a_line(machine: Machine, choice: str, code: int, said: str) -> None:
    machine.has_go()
    result = machine.run(AZURE_GPU_TOOLS=choice)
    assert (result.returncode, result.stdout, machine.builds()) == (code, "", [])
    assert result.stderr.splitlines()[-1].startswith(said)


def test_build_takes_nothing_from_path_and_path_nothing_from_elsewhere(machine: Machine) -> None:
    machine.has_go()
    machine.has_pulumi(f"echo {PINNED}")
    assert machine.run(AZURE_GPU_TOOLS="path").stdout == f"{machine.path}\n"
    assert machine.run(AZURE_GPU_TOOLS="build").stdout == f"{machine.built}\n"


def test_kubernetes_is_all_of_path_or_nothing_of_it(machine: Machine) -> None:
    machine.has_go()
    machine.has("kubelogin", "v0.2.13")
    assert machine.run("kubernetes", AZURE_GPU_TOOLS="path").returncode == 1
    assert machine.run("kubernetes", AZURE_GPU_TOOLS="build").returncode == 0
    assert machine.builds() == ["kubernetes", "kubelogin"], "build links nothing of PATH"
    for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"):
        machine.has(name, "Kubernetes v1.36.2")
    machine.has("etcd", "etcd Version: 3.6.8")
    (machine.built_kubernetes / "sources").unlink()
    assert machine.run("kubernetes", AZURE_GPU_TOOLS="path").stdout == f"{machine.built_kubernetes}\n"
    assert machine.builds()[2:] == ["node-streams"]


def test_a_provider_plugin_without_a_checksum_is_left_to_the_stand_in_without_a_word(machine: Machine) -> None:
    assert machine.run("azure-native", "kubernetes-provider") == (1, "", "")
    result = machine.run("azure-native", AZURE_GPU_TOOLS="official")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("no checksum is pinned for https://get.pulumi.com/releases/plugins/")


def test_of_several_tools_those_are_printed_that_can_be_had(machine: Machine) -> None:
    machine.has_go()
    machine.has_pulumi(f"echo {PINNED}")
    machine.run("kubernetes")
    result = machine.run("azure-native", "pulumi", "groups", "kubernetes", "--check")
    assert (result.returncode, result.stdout) == (1, f"{machine.path}\n{machine.built_kubernetes}\n")
    assert machine.run("pulumi", "kubernetes").returncode == 0
    with pytest.raises(SystemExit, match="2"):
        machine.run("pulumi", "kubectl")


def test_what_is_used_is_a_line_a_tool(machine: Machine) -> None:
    machine.has_go()
    machine.has_pulumi(f"echo {PINNED}")
    machine.run("kubernetes")
    result = machine.run("--used")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        f"pulumi: of this machine, {machine.path}",
        "languages: not made yet",
        f"kubernetes: built here, {machine.built_kubernetes}",
        "groups: not made yet",
        "actionlint: not made yet",
        "judge: not made yet",
    ]
