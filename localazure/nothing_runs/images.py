"""Images that builds would have made: their tags and digests exist, and nothing was built.

What nobody has built is taken to be there too: nothing is pulled, and what was pushed into a registry by hand isn't known.
"""

import hashlib
import json
from pathlib import Path

from azure_gpu.formats import image_reference
from localazure.containers.images import Image, Images

LOG = "Nothing runs on this embedded Azure (--nothing-runs): the image was not built, and its digest is made up."


class PromisedImages(Images):
    """Builds end at once, and every image can be found. The digest is made of what was requested, or of the reference."""

    async def build(
        self, context: Path, dockerfile: str, build_args: dict[str, str], references: list[str], log: Path, *, target: str = ""
    ) -> Image:
        """`context` and Dockerfile needn't be there."""
        image = _image(_digits(json.dumps([str(context), dockerfile, sorted(build_args.items()), target])))
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"{LOG}\n", encoding="utf-8")
        for reference in references:
            self.tag(reference, image)
        return image

    def find(self, reference: str) -> Image | None:
        """None for what isn't a reference."""
        parsed = image_reference.parse(reference)
        if parsed is None:
            return None
        return super().find(reference) or _image((parsed.digest or "").removeprefix("sha256:") or _digits(str(parsed)))

    def _load(self, folder: Path) -> Image | None:
        return _image(folder.name)


def _image(digits: str) -> Image:
    """`digits`: those of its digest, which stand for its folder too."""
    root = Path(digits) / "root"
    return Image(digest=f"sha256:{digits}", root=root, environment=None, entrypoint=(), cmd=(), env={}, workdir="/")


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
