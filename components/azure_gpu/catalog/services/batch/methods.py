"""Methods to install GPU or InfiniBand software on the nodes of a Batch pool. `method_choice` chooses one."""

from enum import StrEnum
from typing import Literal, NamedTuple

from azure_gpu.catalog.services.batch.request import PackageReference, PoolRequest, StartTask
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.services.vm_images import ImageReference


class RequestedMethod(StrEnum):
    """The method that a user requests."""

    AUTO = "auto"
    IMAGE = "image"  # that brings the driver: of the Marketplace or of a gallery
    EXTENSION = "extension"
    PACKAGE = "package"
    START_TASK = "start_task"  # set by the user
    NONE = "none"


RequestedMethodName = RequestedMethod | Literal["auto", "image", "extension", "package", "start_task", "none"]


class MethodKind(StrEnum):
    """How the software is installed on the nodes."""

    MARKETPLACE_IMAGE = "marketplace image"
    GALLERY_IMAGE = "gallery image"  # or a managed one, while Batch took them
    EXTENSION = "driver extension"
    PACKAGE = "application package"
    START_TASK = "start task"
    NOTHING = "nothing"


class DriverMethod(NamedTuple):
    """The chosen method, with what the pool declares for it. An empty field: nothing is declared."""

    kind: MethodKind
    why: str  # one sentence
    image: ImageReference | None = None
    node_agent: str = ""
    extension: ExtensionRequest | None = None
    extension_version: str = ""  # of its handler, if another one replaces the pool
    start_task: StartTask | None = None
    packages: tuple[PackageReference, ...] = ()

    def applied(self, request: PoolRequest) -> PoolRequest:
        """The pool with this method."""
        return request._replace(
            image=self.image,
            node_agent=self.node_agent,
            extensions=(*request.extensions, *((self.extension,) if self.extension else ())),
            start_task=self.start_task,
            package_references=self.packages,
        )
