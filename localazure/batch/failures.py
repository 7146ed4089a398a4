"""Failures of tasks, nodes and resizes as Batch reports them: codes, categories and sentences, all in one place.

Sources: Microsoft Learn, rest/api/batchservice, "Batch status and error codes"; failures that users have shown in public:
Azure/Batch issues 4, 49, 122 (containers), microsoft/CromwellOnAzure issue 29 (registries), MicrosoftDocs/azure-docs issue 53298
(core quota), Azure/BatchExplorer issue 2085 and Azure/batch-shipyard issue 191 (timeout of a resize). Where a sentence was read
nowhere it is the embedded Azure's own, in the manner of the others.
"""

from collections.abc import Mapping

from localazure.arm.store import Body

USER, SERVER = "usererror", "servererror"  # as the data plane spells them
_SENTENCES = {
    "BlobAccessDenied": (USER, "Access for one of the specified Azure Blob(s) is denied"),
    "BlobDownloadMiscError": (SERVER, "Miscellaneous error encountered while downloading one of the specified Azure Blob(s)"),
    "BlobNotFound": (USER, "One of the specified Azure Blob(s) is not found"),
    "CommandLaunchFailed": (USER, "Failed to launch the specified command line"),
    "CommandProgramNotFound": (USER, "The specified command program is not found"),
    "ContainerInvalidImage": (USER, "One or more container images specified are invalid"),
    "ContainerInvalidRegistry": (USER, "One or more container registries specified are invalid"),
    "ContainerInvalidSettings": (USER, "At least one value of specified task container settings is invalid"),
    "FailureExitCode": (USER, "The task exited with an exit code representing a failure"),
    "FileUploadAccessDenied": (USER, "Access was denied to one of the specified Azure Blob(s) when uploading an output file"),
    "FileUploadContainerNotFound": (
        USER,
        "One of the specified Azure container(s) was not found when attempting to upload an output file",
    ),
    "FileUploadMiscError": (SERVER, "A miscellaneous error was encountered while uploading one of the output files"),
    "ApplicationPackageError": (USER, "One or more application packages specified for the pool are invalid"),
    "MountConfigurationError": (USER, "One or more file systems specified for the pool could not be mounted"),
    "NodeNotReady": (SERVER, "The node could not reach its Batch account"),
    "NotImplemented": (SERVER, "The embedded Azure does not implement this"),
    "ResourceDirectoryCreateFailed": (SERVER, "Failure encountered creating resource directory for the task"),
    "ResourceFileWriteFailed": (SERVER, "Failure encountered writing resource file"),
    "TaskEnded": (USER, "Task was ended by user request"),
}
_RESIZE = {
    "AccountCoreQuotaReached": "The specified account has reached core quota",
    "AccountLowPriorityCoreQuotaReached": "The specified account has reached low priority core quota",
    "AccountVMSeriesCoreQuotaReached": "The specified account has reached VM series core quota for {0}",
    "AllocationFailed": "Desired number of {0} nodes could not be allocated",
    "AllocationTimedout": "Desired number of {0} nodes could not be allocated as the resize timeout was reached",
    "ResizeStopped": "Desired number of {0} nodes could not be allocated as the resize operation was stopped",
}


class TaskError(Exception):
    """A task that can't run, or whose files aren't available. `body` is its failure information."""

    def __init__(self, code: str, **details: str) -> None:
        self.code = code
        self.body = task(code, **details)
        super().__init__(f"{code}: {self.body['message']} {details}")


class NodeError(Exception):
    """A node that can't be used. `body` stands among its errors."""

    def __init__(self, code: str, **details: str) -> None:
        self.body: Body = {"code": code, "message": _SENTENCES[code][1], "errorDetails": _pairs(details)}
        super().__init__(f"{code}: {self.body['message']} {details}")


def task(code: str, category: str = "", **details: str) -> Body:
    """taskFailureInformation."""
    usual, message = _SENTENCES[code]
    return {"category": category or usual, "code": code, "message": message, "details": _pairs(details or {"Message": message})}


def resize(code: str, what: str = "") -> Body:
    return {"code": code, "message": _RESIZE[code].format(what)}


def _pairs(details: Mapping[str, str]) -> list[Body]:
    return [{"name": name, "value": value} for name, value in details.items()]
