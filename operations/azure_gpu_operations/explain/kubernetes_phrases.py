"""Patterns of Kubernetes' messages, for the rules about pods.

Sources: kubernetes v1.36.2 (pkg/kubelet, pkg/controller,
staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go), NVIDIA/k8s-device-plugin.
"""

import re

# `pods "x" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: ..., limited: ...`
OBJECT_QUOTA = re.compile(r"exceeded quota: (?P<name>[^,]+)", re.IGNORECASE)
# The admission of Pod Security: `pods "x" is forbidden: violates PodSecurity "restricted:latest": host namespaces (...)`.
POD_SECURITY = re.compile(r"violates PodSecurity", re.IGNORECASE)
SETTINGS = ("CreateContainerConfigError", "CreateContainerError", "InvalidImageName")
MISSING_OBJECT = re.compile(r'(?:secret|configmap) "(?P<name>[^"]+)" not found', re.IGNORECASE)
MISSING_KEY = re.compile(r"couldn't find key (?P<key>\S+) in (?:Secret|ConfigMap) (?P<name>\S+)")
# Of the kubelet, when GPUs went away between the scheduler's choice and the pod's arrival.
ADMISSION = re.compile(r"UnexpectedAdmissionError|Allocate failed|OutOf")
MORE_THAN_ONE_SHARE = re.compile(r"maximum request size for shared resources is 1")
NOT_READY_TAINTS = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.cloudprovider.kubernetes.io/uninitialized",
)
# Messages of a program without a GPU, requested or not.
NO_GPU_SEEN = re.compile(
    r"CUDA_ERROR_NO_DEVICE|no CUDA-capable device|CUDA driver version is insufficient|libcuda\.so\.1: cannot open"
    r"|no GPU though required|Could not find any GPU"
)
