"""The sources of a registry build: `<git URL>#<commit>:<folder>`. Only this server's own checkout is reached."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from azure_gpu.formats import git
from localazure.containers.build_log import BuildFailedError
from localazure.services import Settings

_STEP = "downloading the source"


@dataclass(frozen=True, slots=True)
class Source:
    """`url#ref:folder`, each but the first may be ""."""

    url: str
    ref: str
    folder: str


def parse(location: str) -> Source:
    url, _, rest = location.partition("#")
    ref, _, folder = rest.partition(":")
    return Source(url.rstrip("/"), ref, folder.strip("/"))


def context_of(location: str, settings: Settings) -> Path:
    """The folder that a source location means. BuildFailedError, as the run would fail, where this machine can't reach it."""
    source = parse(location)
    if source.url not in (settings.checkout_url, settings.checkout_url.replace("//localhost:", "//127.0.0.1:")):
        raise BuildFailedError(
            _STEP,
            f"{source.url} can't be reached: the embedded Azure reads the checkout that it was started in, "
            f"at {settings.checkout_url}#HEAD:<folder>, and no other source",
        )
    if source.ref not in ("", "HEAD") and not _is_head(settings.checkout, source.ref):
        raise BuildFailedError(_STEP, f"{source.ref} isn't checked out; write {source.url}#HEAD:{source.folder}")
    checkout = settings.checkout.resolve()
    context = (checkout / source.folder).resolve()
    if not context.is_relative_to(checkout):
        raise BuildFailedError(_STEP, f"the folder {source.folder} lies outside of the checkout")
    if not context.is_dir():
        raise BuildFailedError(_STEP, f"the checkout has no folder {source.folder}")
    return context


def _is_head(checkout: Path, ref: str) -> bool:
    """Whether a commit, tag or branch is the one that is checked out. BuildFailedError on a machine without git."""
    if shutil.which("git") is None:
        raise BuildFailedError(_STEP, f"{ref} can't be looked up, because this machine has no git; install it or write HEAD")
    requested = ["git", "-C", str(checkout), "rev-parse", "--verify", "--quiet", "--end-of-options"]
    commits = [
        subprocess.run(
            [*requested, f"{name}^{{commit}}"],
            capture_output=True,
            text=True,
            check=False,
            env=git.environment(),
        ).stdout.strip()
        for name in ("HEAD", ref)
    ]
    return bool(commits[0]) and commits[0] == commits[1]
