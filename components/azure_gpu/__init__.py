"""Pulumi components for GPU work on Azure.

    import azure_gpu

    cluster = azure_gpu.GpuCluster("gpu", resource_group_name="mine", gpu_pools={…}, expires_after="2026-12-31")

Constructors take keywords or one object, and raise `Refused` with every problem before anything is declared.

A component and its arguments are loaded on first access, so that `import azure_gpu` and `azure_gpu.catalog` don't load Pulumi.

Every component has two steps: `resolve`, a pure function, fills in defaults and finds every problem; then resources are declared.
azure-native has several hundred thousand lines, and each of its services is loaded on first access. Modules that declare with it
leave annotations unevaluated (`from __future__ import annotations`) and access no service at import, so that a stack loads only
the services that it uses.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from azure_gpu.aks.args import GpuClusterArgs
    from azure_gpu.aks.cluster import GpuCluster
    from azure_gpu.batch.account.account import BatchAccount
    from azure_gpu.batch.account.args import BatchAccountArgs
    from azure_gpu.batch.pool.args import BatchPoolArgs
    from azure_gpu.batch.pool.pool import BatchPool
    from azure_gpu.budget.args import BudgetArgs
    from azure_gpu.budget.budget import Budget
    from azure_gpu.container_apps.environment.args import JobEnvironmentArgs
    from azure_gpu.container_apps.environment.environment import JobEnvironment
    from azure_gpu.container_apps.job.args import ServerlessGpuJobArgs
    from azure_gpu.container_apps.job.job import ServerlessGpuJob
    from azure_gpu.container_instances.args import ContainerGroupArgs
    from azure_gpu.container_instances.group import ContainerGroup
    from azure_gpu.edge.args import EdgeSharingArgs
    from azure_gpu.edge.sharing import EdgeSharing
    from azure_gpu.foundation.args import FoundationArgs
    from azure_gpu.foundation.foundation import Foundation
    from azure_gpu.images.args import GalleryImageArgs
    from azure_gpu.images.gallery_image import GalleryImage
    from azure_gpu.ml.endpoint.args import MlEndpointArgs
    from azure_gpu.ml.endpoint.endpoint import MlEndpoint
    from azure_gpu.ml.workspace.args import MlWorkspaceArgs
    from azure_gpu.ml.workspace.workspace import MlWorkspace
    from azure_gpu.shared.refusal import Refused
    from azure_gpu.vm.args import GpuVmArgs
    from azure_gpu.vm.vm import GpuVm

    __version__: str
else:
    _KUBERNETES = "pulumi_kubernetes"

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version  # here, as this import takes as long as everything else together

            return version("azure-gpu")
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            loaded = getattr(importlib.import_module(f"{__name__}.{_module(name)}"), name)
        except ModuleNotFoundError as error:
            if error.name != _KUBERNETES:
                raise
            message = f"{name} requires the package pulumi-kubernetes; run: pip install 'azure-gpu[kubernetes]'"
            raise ImportError(message, name=_KUBERNETES) from None
        globals()[name] = loaded
        return loaded

    def _module(name: str) -> str:
        """The module of a name, which type checkers find by the imports above: of a component, or of its arguments beside it."""
        from azure_gpu.formats.parts import BY_COMPONENT  # here, as a program that loads only the catalog needs none of it

        if name == "Refused":
            return "shared.refusal"
        module = BY_COMPONENT[name.removesuffix("Args")].module
        return f"{module.rpartition('.')[0]}.args" if name.endswith("Args") else module

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, "__version__"})


__all__ = [
    "BatchAccount",
    "BatchAccountArgs",
    "BatchPool",
    "BatchPoolArgs",
    "Budget",
    "BudgetArgs",
    "ContainerGroup",
    "ContainerGroupArgs",
    "EdgeSharing",
    "EdgeSharingArgs",
    "Foundation",
    "FoundationArgs",
    "GalleryImage",
    "GalleryImageArgs",
    "GpuCluster",
    "GpuClusterArgs",
    "GpuVm",
    "GpuVmArgs",
    "JobEnvironment",
    "JobEnvironmentArgs",
    "MlEndpoint",
    "MlEndpointArgs",
    "MlWorkspace",
    "MlWorkspaceArgs",
    "Refused",
    "ServerlessGpuJob",
    "ServerlessGpuJobArgs",
]
