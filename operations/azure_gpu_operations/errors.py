"""The errors that are reported in one line: their cause is the user, Azure or a cluster. Any other error is a bug of this
program.
"""


def told(error: Exception) -> str:
    """An expected error as its message."""
    from azure.core.exceptions import ClientAuthenticationError

    from azure_gpu_operations.azure import not_signed_in

    return not_signed_in(error) if isinstance(error, ClientAuthenticationError) else str(error)


def expected() -> tuple[type[Exception], ...]:
    """Loaded when something failed: Azure's clients take longer than most commands."""
    from azure.core.exceptions import AzureError as AzureCoreError
    from requests.exceptions import RequestException

    from azure_gpu.formats.stack_file import StackFileError
    from azure_gpu.shared.registry_build import BuildFailedError
    from azure_gpu_operations.azure import AzureError
    from azure_gpu_operations.clusters.errors import ClusterError
    from azure_gpu_operations.commands import WorkFailedError
    from azure_gpu_operations.guard.ending import ProtectedError
    from azure_gpu_operations.guard.update_check import RefusedLossError
    from azure_gpu_operations.pool_steps import WrongPackagesError
    from azure_gpu_operations.preflight.left_open import NotOfferedError
    from azure_gpu_operations.run.protocol import RunError
    from azure_gpu_operations.stack import EngineError

    of_azure = (AzureError, AzureCoreError, RequestException)
    of_stacks = (StackFileError, EngineError, WrongPackagesError, NotOfferedError, RefusedLossError, ProtectedError)
    return *of_stacks, *of_azure, ClusterError, WorkFailedError, BuildFailedError, RunError, OSError
