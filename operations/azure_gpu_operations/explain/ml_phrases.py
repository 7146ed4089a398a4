"""Patterns of messages of Azure ML, its inference server and the programs in it; `phrases.first` searches them.

Codes of deployments: MicrosoftDocs/azure-ai-docs, machine-learning/how-to-troubleshoot-online-endpoints.md, 2024-09-18.
"""

import re
from collections.abc import Sequence

# "Not enough quota available for Standard_NC4as_T4_v3 in SubscriptionId …. Current usage/limit: 0/6. Additional needed: 8".
QUOTA = re.compile(
    r"not enough quota|OutOfQuota|quota .*exceeded|QuotaExceeded|exceed.*quota|CoreQuota|quota of \d+ and", re.IGNORECASE
)
QUOTA_FIGURES = re.compile(r"usage/limit: (?P<used>\d+)/(?P<limit>\d+)\. Additional needed: (?P<needed>\d+)", re.IGNORECASE)
QUOTA_SIZE = re.compile(r"\b(Standard_\w+)\b")
UNSCHEDULABLE = re.compile(r"Kubernetes unschedulable|PodUnschedulable|\bunschedulable\b", re.IGNORECASE)
# A status of 403, and no milliseconds of a log's line.
NOT_ALLOWED = re.compile(
    r"authorization error|incorrect role assignments|AuthorizationPermissionMismatch|AuthorizationFailed|(?<![\w.,:-])403\b",
    re.IGNORECASE,
)
IMAGE_MISSING = re.compile(
    r"(?:unable to download|download of) user container image|user container image download failed|ImagePullBackOff"
    r"|ImagePullLoopBackOff|manifest[ _]unknown|image .*(?:not found|isn't there)",
    re.IGNORECASE,
)
MODEL_MISSING = re.compile(
    r"(?:unable to download|download of) user model|user model download failed|BlobNotFound|ContainerNotFound"
    r"|model .*(?:not found|isn't there|has no files)|specified blob does not exist",
    re.IGNORECASE,
)
BUILD = re.compile(r"ImageBuildFailure", re.IGNORECASE)
# Of pip and of uv.
NO_DISTRIBUTION = re.compile(
    r"No matching distribution found for (?P<one>[\w.\[\]=<>~!-]+)|Because (?P<other>[\w.-]+) was not found"
)
KILLED = re.compile(
    r"OOMKilled|PodOutOfMemory|out of memory|exit code 137|Perhaps out of memory|killed by signal 9", re.IGNORECASE
)
# The scoring script of the source documents, and the one of this project.
INPUTS = re.compile(r"This score\.py only supports one input")
NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '(?P<name>[\w.]+)'|UserScriptImportError")
NO_FUNCTION = re.compile(
    r"UserScriptFunctionNotFound|(?:does not have|doesn't have|has no) .*(?:init|run)\b.*(?:function|attribute)", re.IGNORECASE
)
# CUDA's driver interface, TensorFlow and PyTorch, on a machine without a GPU or without its driver.
NO_GPU = re.compile(
    r"CUDA_ERROR_NO_DEVICE|no CUDA-capable device|Could not find cuda drivers|Cannot dlopen some GPU libraries"
    r"|libcuda\.so\.1: cannot open|Found no NVIDIA driver|failed call to cuInit|GPU will not be used|no GPU, though",
    re.IGNORECASE,
)
PROBE = re.compile(r"(?P<which>liveness|readiness|startup) probe", re.IGNORECASE)
CRASHED = re.compile(
    r"crashed or terminated|ResourceNotReady|CrashLoopBackOff|container (?:has )?(?:crashed|ended)", re.IGNORECASE
)
CLUSTER = re.compile(
    r"InferencingClientCallFailed|ScoringFeUnhealthy|Azureml-fe|KubernetesUnaccessible|NamespaceNotFound|TokenRefreshFailed",
    re.IGNORECASE,
)
# A line of the inference server for each request, and gunicorn's about a worker that answers nothing.
REQUEST = re.compile(r"POST \S+ (?P<status>\d{3}) (?P<ms>\d+(?:\.\d+)?) ?ms")
WORKER_TIMEOUT = re.compile(r"WORKER TIMEOUT \(pid|ScoreRequestTimeout")
_SERVERS = re.compile(r"gunicorn\.|azureml_inference_server_http\.|SystemExit")
_LAST_OF_TRACEBACK = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit|Warning)\b.*")


def exception(log: Sequence[str]) -> str:
    """The last line of the last traceback in a log that a program of the user's has left, "" where there is none.

    The server's own tracebacks come behind it: that a worker didn't start isn't why it didn't.
    """
    begins = [at for at, line in enumerate(log) if "Traceback (most recent call last)" in line]
    ends = (next((line.strip() for line in log[at + 1 :] if _LAST_OF_TRACEBACK.match(line.strip())), "") for at in begins)
    return next((end for end in reversed(list(ends)) if end and not _SERVERS.match(end)), "")
