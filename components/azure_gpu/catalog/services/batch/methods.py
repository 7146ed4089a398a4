"""A way to get the software of a GPU or of InfiniBand onto the nodes of a Batch pool: what is declared for it, and why.

`Wanted`, `WayKind` and `Way`. Which way a pool takes is in `ways`.
"""

from enum import StrEnum
from typing import Literal, NamedTuple

from azure_gpu.catalog.services.batch.request import PackageReference, PoolRequest, StartTask
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.services.vm_images import ImageReference


class Wanted(StrEnum):
    """Which way a user wants."""

    AUTO = "auto"
    IMAGE = "image"  # that brings the driver: of the Marketplace or of a gallery
    EXTENSION = "extension"
    PACKAGE = "package"
    START_TASK = "start_task"  # the user's own
    NONE = "none"


WantedName = Wanted | Literal["auto", "image", "extension", "package", "start_task", "none"]


class WayKind(StrEnum):
    """How the software comes onto the nodes."""

    MARKETPLACE_IMAGE = "marketplace image"
    GALLERY_IMAGE = "gallery image"  # or a managed one, while Batch took them
    EXTENSION = "driver extension"
    PACKAGE = "application package"
    START_TASK = "start task"
    NOTHING = "nothing"


class Way(NamedTuple):
    """One way, with what the pool declares for it. Empty fields: nothing is declared."""

    kind: WayKind
    why: str  # one sentence
    image: ImageReference | None = None
    node_agent: str = ""
    extension: ExtensionRequest | None = None
    extension_version: str = ""  # of its handler, where another one makes another pool
    start_task: StartTask | None = None
    packages: tuple[PackageReference, ...] = ()

    def applied(self, request: PoolRequest) -> PoolRequest:
        """The pool in this way."""
        return request._replace(
            image=self.image,
            node_agent=self.node_agent,
            extensions=(*request.extensions, *((self.extension,) if self.extension else ())),
            start_task=self.start_task,
            package_references=self.packages,
        )
