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

from collections.abc import Sequence

from azure_gpu.catalog.problems import Problem
from localazure.arm.errors import ArmError
from localazure.kinds.problem_refusals import sentence

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


def of_problems(problems: Sequence[Problem]) -> ArmError:
    """The catalog's problems, of which there is at least one, as one refusal with the details of each."""
    refusals = [invalid_value(problem.path, sentence(problem), problem.value) for problem in problems]
    details = [detail for each in refusals for detail in each.details]
    return ArmError(400, "InvalidPropertyValue", INVALID_VALUE, target=TARGET, details=details)
