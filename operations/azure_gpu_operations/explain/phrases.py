"""Patterns of Azure's error messages, each with its source.

Spelling and letter case vary between services, so patterns match anywhere in a message.
"""

import re
from collections.abc import Iterable

# "Failed to pull image ...: ... not found" (Microsoft Learn, container-instances-troubleshooting, 2026-07-25);
# InaccessibleImage is the code with which Container Instances rejects an image for any reason; `manifest unknown` and
# `name unknown` are codes of the registry protocol (OCI distribution-spec, error codes).
IMAGE_MISSING = re.compile(
    r"pull image.*not found|image.*not found|manifest[ _](?:unknown|.*not found)|name[ _]unknown|repository .*does not exist"
    r"|has no image|reaches no registry|no such image|image .*can't be found",
    re.IGNORECASE | re.DOTALL,
)
# `unauthorized: authentication required` and `denied` are the registry protocol's; the rest is Azure's about identities.
NO_PULL = re.compile(
    r"unauthorized|authentication required|pull access denied|requested access to the resource is denied|\bdenied\b"
    r"|unable to pull image using managed identity|has no role|no imageRegistryCredentials|isn't among the group's own identities"
    r"|no (?:credentials|identity).*(?:registry|pull)|doesn't take this user name|status code 40[13]",
    re.IGNORECASE | re.DOTALL,
)
# Container Apps refuses an image with "Field 'template.containers.main.image' is invalid ...: MANIFEST_UNKNOWN" or UNAUTHORIZED
# (Azure-Samples/call-center-voice-agent-accelerator issue 3, Azure/container-apps-deploy-action issue 85).
IMAGE_PULL = re.compile(
    r"InaccessibleImage|ErrImagePull|ImagePullBackOff|ImagePullFailure|Failed to pull image|Back-off pulling image"
    r"|MANIFEST_UNKNOWN|NAME_UNKNOWN|: UNAUTHORIZED",
    re.IGNORECASE,
)
# ContainerGroupQuotaReached: "container group quota 'P100Cores' exceeded in region 'westus2'. Limit: '0', Usage: '0' Requested:
# '1'." (reported by users of Container Instances). Container Apps: azureossd.github.io, 2025-05-16, on cores of an environment.
QUOTA = re.compile(
    r"ContainerGroupQuotaReached|QuotaExceeded|quota .*exceeded|exceeded quota|not have enough quota"
    r"|Maximum Allowed Cores exceeded|OperationNotAllowed.*quota",
    re.IGNORECASE | re.DOTALL,
)
# "The requested resource with 'x' CPU and 'y.z' GB memory is not available in the location 'example region' at this moment."
# (container-instances-troubleshooting, "Resource not available error"); "pod didn't trigger scale-up: 1 max node group size
# reached" (azureossd.github.io, 2025-05-16); AssigningReplicaFailed (microsoft/azure-container-apps issue 1168, a reason of a
# failed execution).
NO_CAPACITY = re.compile(
    r"not available in the location|no capacity|insufficient capacity|capacity (?:is )?not available|AllocationFailed"
    r"|didn't trigger scale-up|AssigningReplicaFailed|ServiceUnavailable|SkuNotAvailable",
    re.IGNORECASE,
)
OUT_OF_MEMORY = re.compile(r"OOMKilled|out of memory", re.IGNORECASE)
# What PyTorch, TensorFlow and the CUDA runtime write.
GPU_MEMORY = re.compile(r"CUDA out of memory|CUDA_ERROR_OUT_OF_MEMORY|ResourceExhaustedError|OOM when allocating tensor")
CRASH_LOOP = re.compile(
    r"CrashLoopBackOff|Back-off restarting failed|ContainerBackOff|Persistent Failure to start", re.IGNORECASE
)
PROBE = re.compile(r"failed liveness probe|liveness probe failed|ProbeFailed", re.IGNORECASE)
VOLUME = re.compile(
    r"volume could not be mounted|MountVolume|FailedMount|failed to mount|can't be mounted|AzureFileVolume"
    r"|mount.*(?:failed|error)|CannotAccessStorageAccount|the volume \S+[: ].*(?:needs|has no|can't)",
    re.IGNORECASE,
)
TIMEOUT = re.compile(
    r"DeadlineExceeded|replica timeout|exceeded .*timeout|timed out after|longer than specified deadline", re.IGNORECASE
)
# Messages of container runtimes about a missing command.
NO_COMMAND = re.compile(
    r"executable file not found|exec .*: no such file or directory|exec [^:]+: (?:No such file|Permission denied)"
    r"|command not found|no command specified|StartError|ContainerCannotRun|exec format error",
    re.IGNORECASE,
)
UNREGISTERED = re.compile(r"MissingSubscriptionRegistration|is not registered to use", re.IGNORECASE)


def first(pattern: re.Pattern[str], sentences: Iterable[str]) -> str:
    """The first sentence that matches, or ""."""
    return next((sentence for sentence in sentences if pattern.search(sentence)), "")
