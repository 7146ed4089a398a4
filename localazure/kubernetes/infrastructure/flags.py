"""Parses the command line and variables of the NVIDIA programs, which all read both: a flag overrides its variable.

The result has the values that are set, by flag. What isn't said isn't in it: it may stand in the configuration file.
"""

from collections.abc import Mapping, Sequence

from localazure.kubernetes.infrastructure.context import WrongUseError

COMMON = {
    "mig-strategy": "MIG_STRATEGY",
    "fail-on-init-error": "FAIL_ON_INIT_ERROR",
    "config-file": "CONFIG_FILE",
    "nvidia-driver-root": "NVIDIA_DRIVER_ROOT",
    "dev-root": "NVIDIA_DEV_ROOT",
    "driver-root-ctr-path": "DRIVER_ROOT_CTR_PATH",
    "container-driver-root": "CONTAINER_DRIVER_ROOT",
    "device-discovery-strategy": "DEVICE_DISCOVERY_STRATEGY",
    "kubeconfig": "KUBECONFIG",
    "kube-client-api-qps": "KUBE_CLIENT_API_QPS",
    "kube-client-api-burst": "KUBE_CLIENT_API_BURST",
}
DEVICE_PLUGIN = {
    **COMMON,
    "pass-device-specs": "PASS_DEVICE_SPECS",
    "device-list-strategy": "DEVICE_LIST_STRATEGY",
    "device-id-strategy": "DEVICE_ID_STRATEGY",
    "gds-enabled": "GDS_ENABLED",
    "gdrcopy-enabled": "GDRCOPY_ENABLED",
    "mofed-enabled": "MOFED_ENABLED",
    "kubelet-socket": "KUBELET_SOCKET",
    "cdi-annotation-prefix": "CDI_ANNOTATION_PREFIX",
    "cdi-feature-flags": "CDI_FEATURE_FLAGS",
    "nvidia-cdi-hook-path": "NVIDIA_CDI_HOOK_PATH",
    "nvidia-ctk-path": "NVIDIA_CTK_PATH",
    "mps-root": "MPS_ROOT",
    "imex-channel-ids": "IMEX_CHANNEL_IDS",
    "imex-required": "IMEX_REQUIRED",
}
FEATURE_DISCOVERY = {
    **COMMON,
    "oneshot": "GFD_ONESHOT",
    "no-timestamp": "GFD_NO_TIMESTAMP",
    "sleep-interval": "GFD_SLEEP_INTERVAL",
    "output-file": "GFD_OUTPUT_FILE",
    "machine-type-file": "GFD_MACHINE_TYPE_FILE",
    "use-node-feature-api": "GFD_USE_NODE_FEATURE_API",
    "node-name": "NODE_NAME",
    "namespace": "NAMESPACE",
}
MPS_CONTROL = {**COMMON, "mps-root": "MPS_ROOT"}
CONFIG_MANAGER = {
    "oneshot": "ONESHOT",
    "kubeconfig": "KUBECONFIG",
    "node-name": "NODE_NAME",
    "node-label": "NODE_LABEL",
    "config-file-srcdir": "CONFIG_FILE_SRCDIR",
    "config-file-dst": "CONFIG_FILE_DST",
    "default-config": "DEFAULT_CONFIG",
    "fallback-strategies": "FALLBACK_STRATEGIES",
    "send-signal": "SEND_SIGNAL",
    "signal": "SIGNAL",
    "process-to-signal": "PROCESS_TO_SIGNAL",
}
_SWITCHES = frozenset(
    (
        "fail-on-init-error",
        "pass-device-specs",
        "gds-enabled",
        "gdrcopy-enabled",
        "mofed-enabled",
        "imex-required",
        "oneshot",
        "no-timestamp",
        "use-node-feature-api",
        "send-signal",
    )
)
_BOOLEANS = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}


def values(known: Mapping[str, str], arguments: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """By flag. WrongUseError for a flag that the program doesn't have, or that isn't a boolean where it has to be one."""
    found = {flag: env[variable] for flag, variable in known.items() if env.get(variable)}
    words = list(arguments)
    while words:
        word = words.pop(0)
        flag, joined, value = word.lstrip("-").partition("=")
        if not word.startswith("-"):
            continue
        if flag not in known:
            raise WrongUseError(f"Incorrect Usage: flag provided but not defined: -{flag}")
        if not joined and flag in _SWITCHES:
            value = "true"
        elif not joined:
            if not words:
                raise WrongUseError(f"Incorrect Usage: flag needs an argument: -{flag}")
            value = words.pop(0)
        found[flag] = value
    for flag in _SWITCHES & found.keys():
        if found[flag].lower() not in _BOOLEANS:
            raise WrongUseError(f'could not parse "{found[flag]}" as bool value for flag {flag}: parse error')
    return found


def switch(found: Mapping[str, str], flag: str, default: bool = False) -> bool:
    return _BOOLEANS[found[flag].lower()] if flag in found else default
