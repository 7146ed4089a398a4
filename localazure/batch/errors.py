"""Errors of the Batch service: a status, a code, a message for people, and named values with details.

Codes, statuses and messages: Microsoft Learn, rest/api/batchservice/batch-status-and-error-codes (2017-02-01), and the codes
of the .NET client's BatchErrorCodeStrings. The envelope is `BatchError` of azure-batch 15.1: code, message {lang, value}, values.
"""

from typing import Any

_KNOWN = {
    "ConditionNotMet": (412, "The condition specified in the conditional header(s) was not met for a write operation."),
    "MissingRequiredProperty": (400, "A required property was not specified in the request body."),
    "InvalidHeaderValue": (400, "The value provided for one of the HTTP headers was not in the correct format."),
    "InvalidPropertyValue": (400, "The value provided for one of the properties in the request body is invalid."),
    "MissingRequiredQueryParameter": (400, "A required query parameter was not specified for this request."),
    "InvalidQueryParameterValue": (400, "Value for one of the query parameters specified in the request URI is invalid"),
    "OutOfRangeQueryParameterValue": (400, "A query parameter specified in the request URI is outside the permissible range."),
    "InvalidUri": (400, "The requested URI does not represent any resource on the server."),
    "InvalidRequestBody": (400, "The specified Request Body is not syntactically valid."),
    "InvalidAuthenticationInfo": (
        400,
        "The authentication information was not provided in the correct format. Verify the value of Authorization header.",
    ),
    "AuthenticationFailed": (
        403,
        "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including "
        "the signature.",
    ),
    "UnsupportedHttpVerb": (405, "The resource doesn't support the specified HTTP verb."),
    "RequestBodyTooLarge": (413, "The size of the request body exceeds the maximum size permitted."),
    "InvalidRange": (416, "The range specified is invalid for the current size of the resource."),
    "InternalError": (500, "Server encountered an internal error. Please try again after some time."),
    "UnsupportedRequestVersion": (400, "The specified request version is not supported."),
    "PoolNotFound": (404, "The specified pool does not exist."),
    "NodeNotFound": (404, "The specified node does not exist."),
    "JobNotFound": (404, "The specified job does not exist."),
    "TaskNotFound": (404, "The specified task does not exist."),
    "FileNotFound": (404, "The specified file does not exist."),
    "OperationInvalidForCurrentState": (409, "The specified operation is not valid for the current state of the resource."),
    "PoolBeingDeleted": (409, "The specified pool has been marked for deletion and is being reclaimed."),
    "PoolBeingResized": (409, "The specified pool is being resized."),
    "PoolExists": (409, "The specified pool already exists."),
    "PoolQuotaReached": (409, "Pool quota for the account has been reached."),
    "JobExists": (409, "The specified job already exists."),
    "JobBeingTerminated": (409, "The specified job is being terminated."),
    "JobBeingDeleted": (409, "The specified job has been marked for deletion and is being garbage collected."),
    "JobCompleted": (409, "The specified job is already in a completed state."),
    "TaskExists": (409, "The specified task already exists."),
    "TaskCompleted": (409, "The specified task is already in a completed state."),
    "TaskFilesUnavailable": (409, "The files of the specified task are unavailable."),
    "ActiveJobAndScheduleQuotaReached": (409, "Active job and schedule quota for the account has been reached."),
    "JobPreparationTaskNotSpecified": (409, "The specified job does not have job preparation task."),
    "TaskIdSameAsJobPreparationTask": (409, "The specified task id is same as the job preparation task."),
    "TaskIdSameAsJobReleaseTask": (409, "The specified task id is same as the job release task."),
    "InvalidApplicationPackageReferences": (
        409,
        "One or more application package references could not be satisfied. This occurs if the application id or version does "
        "not exist or is not active, or if the reference did not specify a version and there is no default version configured.",
    ),
    "TaskDependenciesNotSpecifiedOnJob": (
        400,
        "A task was specified as depending on other tasks, but the job did not specify that it would use task dependencies.",
    ),
    "TaskDependencyListTooLong": (
        400,
        "A task was specified as depending on other tasks, but the list of dependencies was too long to be stored.",
    ),
}


class BatchError(Exception):
    """A refusal. Raised anywhere below the data plane, which answers it."""

    def __init__(
        self,
        code: str,
        message: str = "",
        *,
        status: int | None = None,
        values: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        known_status, known_message = _KNOWN.get(code, (400, ""))
        self.status = status or known_status
        self.code = code
        self.message = message or known_message
        self.values = values or {}
        self.headers = headers or {}
        super().__init__(f"{code}: {self.message}")

    def body(self) -> dict[str, Any]:
        """The envelope."""
        content: dict[str, Any] = {"code": self.code, "message": {"lang": "en-US", "value": self.message}}
        if self.values:
            content["values"] = [{"key": key, "value": value} for key, value in self.values.items()]
        return content


def invalid_value(name: str, value: object, reason: str) -> BatchError:
    """A property whose value the service doesn't take."""
    return BatchError("InvalidPropertyValue", values={"PropertyName": name, "PropertyValue": str(value), "Reason": reason})


def not_imitated(what: str) -> BatchError:
    """Azure may know `what`; the embedded Batch doesn't imitate it."""
    return BatchError("NotImplemented", f"The embedded Azure does not implement {what}.", status=501)
