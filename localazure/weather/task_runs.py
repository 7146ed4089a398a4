"""The address that tells how a task run of a registry goes, as the service writes it: a part of it stands there twice, and is
404.

Azure/azure-rest-api-specs issue 19159 has the address, pulumi/pulumi-azure-native issue 1713 what clients make of it.
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse

_VERSION = "2019-06-01-preview"


def is_task_run(resource_id: str) -> bool:
    parsed = parse(resource_id)
    return parsed is not None and parsed.is_type(azure_types.TASK_RUN.arm_type)


def twice(operation: str) -> str:
    return f"/operationStatuses/{operation}/operationStatuses/{operation}?api-version={_VERSION}"
