"""Errors of Azure Batch to ARM requests: one code and sentence, and details that name the property.

The form (target `BatchAccount`, details `Reason`, `PropertyName`, `PropertyPath`) and codes:
  - PropertyCannotBeUpdated (400): Azure/Batch issue 85, 2020-05-12; Azure/azure-sdk-for-net issue 40325, 2023-11-28
  - InvalidPropertyValue, MissingRequiredProperty (400): hashicorp/terraform-provider-azurerm issue 27945 and hashicorp/terraform
    issue 36698; Microsoft Learn, rest/api/batchservice/batch-status-and-error-codes
  - InvalidApplicationPackageReferences (409): azure-mgmt-batch 19.0.0, ApplicationPackageReference.version
  - AccountAlreadyExists, PoolQuotaReached, PoolBeingDeleted, OperationInvalidForCurrentState (409): Microsoft Learn,
    dotnet/api/azure.compute.batch.batcherrorcode
  - "The specified application package does not exist.": Azure/azure-powershell issue 23809; its code is assumed
A request id and a time, which the service writes below its sentence, are left out.
"""

from localazure.arm.errors import ArmError
from localazure.evidence import Refusal

TARGET = "BatchAccount"
CANNOT_BE_UPDATED = "A property that cannot be updated was specified as part of the request."
INVALID_VALUE = "The value provided for one of the properties in the request body is invalid."
MISSING = "A required property was not specified in the request body."
INVALID_STATE = "The specified operation is not valid for the current state of the resource."


def refusal(status: int, code: str, message: str, **details: str) -> ArmError:
    """`details` in the service's spelling: Reason, PropertyName, PropertyPath, PropertyValue."""
    told = [ArmError(status, name, text) for name, text in details.items() if text]
    return ArmError(status, code, message, target=TARGET, details=told)


def cannot_be_updated(path: str) -> ArmError:
    name = path.rsplit(".", 1)[-1]
    code = "PropertyCannotBeUpdated"
    return refusal(400, code, CANNOT_BE_UPDATED, Reason=CANNOT_BE_UPDATED, PropertyName=name, PropertyPath=path)


def invalid_value(path: str, reason: str, value: object = None, code: str = "InvalidPropertyValue") -> ArmError:
    name = path.rsplit(".", 1)[-1]
    told = "" if value is None else str(value)
    return refusal(400, code, INVALID_VALUE, Reason=reason, PropertyName=name, PropertyPath=path, PropertyValue=told)


def missing(path: str) -> ArmError:
    name = path.rsplit(".", 1)[-1]
    return refusal(400, "MissingRequiredProperty", MISSING, PropertyName=name, PropertyPath=path)


def invalid_state(reason: str) -> ArmError:
    return refusal(409, "OperationInvalidForCurrentState", INVALID_STATE, Reason=reason)


def form(row: Refusal, message: str, target: str, value: object) -> ArmError:
    """A row of the table as the service words it."""
    if row.code == "MissingRequiredProperty":
        return missing(target)
    return invalid_value(target, message, value if isinstance(value, str | int | float) else None, row.code)
