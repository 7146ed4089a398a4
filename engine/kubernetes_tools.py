"""Kubernetes: the programs of a control plane, kubectl and kubelogin, in one folder; whether it holds them, and how it is made.

What PATH has of them is linked where it is recent enough; the rest is built: one program that is called by several names, and
kubelogin. `node-streams` is ours: with it the nodes of the embedded Azure stream into pods, by Kubernetes' own library.
"""

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from engine import choice, go, official, pins, slim
from engine.answers import answer
from engine.progress import Progress

_KUBELOGIN = pins.read(Path(__file__).with_name("kubernetes"))  # the module's tool; its own program is the rest
KUBERNETES = replace(_KUBELOGIN, tool=".")
VERSION = KUBERNETES.requires["k8s.io/kubernetes"]
_LOGIN_VERSION = KUBERNETES.requires["github.com/Azure/kubelogin"]
_ETCD_VERSION = KUBERNETES.requires["go.etcd.io/etcd/server/v3"]

_WHOLE = "kubernetes"  # the one program
_STREAMS, _LOGIN, _KUBECTL = "node-streams", "kubelogin", "kubectl"
# They are taken from PATH together or not at all: they are made for each other.
_SERVERS = {
    "etcd": ("--version", _ETCD_VERSION),
    "kube-apiserver": ("--version", VERSION),
    "kube-controller-manager": ("--version", VERSION),
    "kube-scheduler": ("--version", VERSION),
}
_CLIENTS = {_KUBECTL: ("version --client", VERSION), _LOGIN: ("--version", _LOGIN_VERSION)}
_ANSWERS = {**_SERVERS, **_CLIENTS}  # how each is asked for its version, and the one that is pinned
_NAMES = (*_ANSWERS, _STREAMS)
_STAMPED = "k8s.io/component-base/version"
# The control plane is published for Linux alone. Kubernetes' and etcd's pages of downloads; Azure/kubelogin's releases.
_LINUX = {name: path for name, path in official.GO_PATHS.items() if name != official.MACOS_ARM}
_PUBLISHED = {
    **{
        name: official.Archive(
            f"https://dl.k8s.io/release/{VERSION}/bin/{{platform}}/{name}",
            f"https://dl.k8s.io/release/{VERSION}/bin/{{platform}}/{name}.sha256",
            (name,),
            official.GO_PATHS if name == _KUBECTL else _LINUX,
        )
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", _KUBECTL)
    },
    "etcd": official.Archive(
        f"https://github.com/etcd-io/etcd/releases/download/{_ETCD_VERSION}/etcd-{_ETCD_VERSION}-{{platform}}.tar.gz",
        f"https://github.com/etcd-io/etcd/releases/download/{_ETCD_VERSION}/SHA256SUMS",
        ("etcd",),
        {name: official.GO_NAMES[name] for name in _LINUX},
    ),
    _LOGIN: official.Archive(
        f"https://github.com/Azure/kubelogin/releases/download/{_LOGIN_VERSION}/kubelogin-{{platform}}.zip",
        f"https://github.com/Azure/kubelogin/releases/download/{_LOGIN_VERSION}/kubelogin-{{platform}}.zip.sha256",
        (_LOGIN,),
        official.GO_NAMES,
    ),
}
ARCHIVES = tuple(_PUBLISHED.values())


def problem(folder: Path) -> str | None:
    """What is wrong with `folder` as the home of the programs; None where all are there and answer a version that will do."""
    if not folder.is_dir():
        return "it isn't there"
    for name in _NAMES:
        if not os.access(folder / name, os.X_OK):
            return f"{name} is missing or can't be executed"
    if not pins.made_of(folder, KUBERNETES):
        return "it was built out of other sources"
    return works(folder)


def works(folder: Path) -> str | None:
    """What is wrong with the programs in a folder; None where each runs and answers a version that will do."""
    for name, (_, pinned) in _ANSWERS.items():
        version = _version(folder / name, name)
        if not _new_enough(version, pinned):
            return f"{name} answers {version or 'no version'}, and {pinned} or later is needed"
    return None


def on_path() -> tuple[Path | None, str]:
    """No folder on PATH has all that is needed: `node-streams` is this project's own. What else PATH has is linked."""
    taken = [name for name in _ANSWERS if _taken(name)]
    return None, f"{', '.join(taken)} on PATH can be used" if taken else "no program of Kubernetes on PATH is recent enough"


def builder(progress: Progress, log: Path) -> Callable[[Path, Path], None]:
    """What fills a folder with the programs, as `cache.ensure` calls it.

    Raises `go.MissingGoError`; what it answers raises `go.BuildError`, with Go's output in `log`.
    """
    go_program = go.find_go(KUBERNETES.go, "Kubernetes")

    def build(result: Path, scratch: Path) -> None:
        linked = _linked(result, progress)
        whole = any(name not in linked for name in (*_SERVERS, _KUBECTL))
        progress.say(
            f"building {f'Kubernetes {VERSION}' if whole else _STREAMS}, once: "
            f"{'about 5 minutes' if whole else 'a minute'} on two cores (this machine has {os.cpu_count()})\n"
            f"  kept in {log.parent} (150 MB), beside what Go keeps in its own caches (about 3 GB)"
        )
        if whole:
            options = [*slim.options(go_program, KUBERNETES, scratch), _stamp()]
            if _KUBECTL in linked:
                options.append("-tags=withoutkubectl")
            go.build(go_program, KUBERNETES, result / _WHOLE, options, scratch=scratch, log=log, progress=progress)
            for name in (*_SERVERS, _KUBECTL, _STREAMS):
                if name not in linked:
                    (result / name).symlink_to(_WHOLE)
        else:
            _build_streams(go_program, result, scratch, log, progress)
        if _LOGIN not in linked:
            tag = f"-ldflags=-s -w -X main.gitTag={_LOGIN_VERSION}"
            go.build(go_program, _KUBELOGIN, result / _LOGIN, [tag], scratch=scratch, log=log, progress=progress)
        pins.note(result, KUBERNETES)
        wrong = problem(result)
        if wrong is not None:
            raise go.BuildError(f"the build ended, but {wrong}")
        progress.say(f"built Kubernetes {VERSION} in {progress.elapsed()}")

    return build


def unpublished(result: Path, scratch: Path, log: Path, progress: Progress) -> None:
    """Adds what PATH has, and `node-streams`, which nobody publishes, to a folder of published programs."""
    go_program = go.find_go(KUBERNETES.go, _STREAMS)
    _linked(result, progress)
    progress.say(f"building {_STREAMS}, once: a minute on two cores")
    _build_streams(go_program, result, scratch, log, progress)


def wanted() -> tuple[official.Archive, ...]:
    """The archives of what PATH doesn't have."""
    return tuple(archive for name, archive in _PUBLISHED.items() if _taken(name) is None)


def own() -> str:
    """A digest of what this project adds to published programs."""
    return pins.digest(KUBERNETES)


def _linked(result: Path, progress: Progress) -> dict[str, Path]:
    """Links what PATH has and is used: name → program."""
    linked = _taken_programs()
    for name, found in linked.items():
        progress.say(f"using {found}")
        (result / name).symlink_to(found)
    return linked


def _build_streams(go_program: str, result: Path, scratch: Path, log: Path, progress: Progress) -> None:
    alone = ["-tags=streams", _stamp()]
    go.build(go_program, KUBERNETES, result / _STREAMS, alone, scratch=scratch, log=log, progress=progress)


def _stamp() -> str:
    """The linker's option that tells the programs their version."""
    number = VERSION.removeprefix("v").split(".")
    stamps = {"gitVersion": VERSION, "gitMajor": number[0], "gitMinor": number[1]}
    return f"-ldflags=-s -w {' '.join(f'-X {_STAMPED}.{name}={value}' for name, value in stamps.items())}"


def is_all_on_path() -> bool:
    """Whether all but `node-streams` can be taken from PATH."""
    return len(_taken_programs()) == len(_ANSWERS)


def _taken_programs() -> dict[str, Path]:
    return {name: found for name in _ANSWERS if (found := _taken(name))}


@cache
def _taken(name: str) -> Path | None:
    """The program on PATH where it is used: a server only together with all the others."""
    if not choice.allows(choice.PATH):
        return None
    group = _SERVERS if name in _SERVERS else {name: _ANSWERS[name]}
    found = {each: shutil.which(each) for each in group}
    for each, program in found.items():
        if program is None or _is_ours(Path(program)) or not _new_enough(_version(Path(program), each), group[each][1]):
            return None
    return Path(str(found[name]))


def _is_ours(program: Path) -> bool:
    """A link into a build of our own, whose folder is first on PATH where `make` has put it there, is no reason to link there."""
    return program.with_name(_STREAMS).exists()


def _new_enough(version: str | None, pinned: str) -> bool:
    """The same major version and the pinned minor version or a later one; of kubelogin, which is at 0.2, the patch counts too."""
    if version is None:
        return False
    given, wanted = _numbers(version), _numbers(pinned)
    return given[0] == wanted[0] and (given[1:] >= wanted[1:] if wanted[0] == 0 else given[1] >= wanted[1])


def _numbers(version: str) -> tuple[int, int, int]:
    major, minor, patch = re.findall(r"\d+", version)[:3]
    return int(major), int(minor), int(patch)


def _version(program: Path, name: str) -> str | None:
    """The version that a program answers, such as v1.36.2; None where it gives none, fails or takes too long."""
    found = re.search(r"\bv?(\d+\.\d+\.\d+)", answer([program, *_ANSWERS[name][0].split()]))
    return f"v{found[1]}" if found else None
