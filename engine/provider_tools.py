"""Pulumi's own provider plugins, which the embedded Azure uses where they can be had. There is no build of them: elsewhere it
uses stand-ins of its own.

The folder has the layout of a PULUMI_HOME. An installed SDK names the one version of its plugin that fits.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from engine import official
from engine.progress import Progress

_LOCKED = Path(__file__).parents[1] / "requirements-local.txt"


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider plugin of Pulumi's."""

    name: str

    @property
    def VERSION(self) -> str:  # noqa: N802  as the modules of the other tools have it
        return re.findall(rf"^pulumi-{self.name}==(\S+)", _LOCKED.read_text(encoding="utf-8"), re.MULTILINE)[0]

    @property
    def ARCHIVES(self) -> tuple[official.Archive, ...]:  # noqa: N802
        """Where Pulumi's engine would download it (pulumi/pulumi sdk/go/common/workspace/plugins.go)."""
        release = f"https://github.com/pulumi/pulumi-{self.name}/releases/download/v{self.VERSION}"
        return (
            official.Archive(
                f"https://get.pulumi.com/releases/plugins/pulumi-resource-{self.name}-v{self.VERSION}-{{platform}}.tar.gz",
                f"{release}/pulumi-{self.name}_{self.VERSION}_checksums.txt",
                (self._program,),
                official.GO_NAMES,
            ),
        )

    builder = None

    def on_path(self) -> tuple[Path | None, str]:
        return None, ""  # the embedded Azure looks where `pulumi plugin install` puts it

    def problem(self, folder: Path) -> str:  # noqa: ARG002  as of the others
        return "the embedded Azure uses its stand-in"

    def works(self, folder: Path) -> str | None:
        return None if (folder / self._path).exists() else f"{self._program} is missing"

    def unpublished(self, result: Path, scratch: Path, log: Path, progress: Progress) -> None:  # noqa: ARG002  as of the others
        """Moves the program to where the engine looks for it."""
        target = result / self._path
        target.parent.mkdir(parents=True)
        (result / self._program).rename(target)

    @property
    def _program(self) -> str:
        return f"pulumi-resource-{self.name}"

    @property
    def _path(self) -> Path:
        return Path("plugins", f"resource-{self.name}-v{self.VERSION}", self._program)


AZURE_NATIVE, KUBERNETES = Provider("azure-native"), Provider("kubernetes")
