"""This machine's resources for containers: NVIDIA GPUs, and the variables that package tools need."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # of an image that names no other, as Docker's


def gpu_count() -> int:
    """The NVIDIA GPUs whose device files are there. 0 where there is no driver."""
    return sum(1 for device in Path("/dev").glob("nvidia[0-9]*") if device.name.removeprefix("nvidia").isdigit())


def has_nvidia_driver() -> bool:
    return gpu_count() > 0 or shutil.which("nvidia-smi") is not None


# Of uv's: from where and how packages come. Others say which ones, or where to, and belong to what the user does elsewhere.
_FETCHING = (
    *(
        "UV_DEFAULT_INDEX",
        "UV_INDEX",
        "UV_EXTRA_INDEX",
        "UV_FIND_LINKS",
        "UV_NO_INDEX",
        "UV_KEYRING_PROVIDER",
        "UV_INSECURE_HOST",
    ),
    *("UV_CACHE_DIR", "UV_NO_CACHE", "UV_LINK_MODE", "UV_OFFLINE", "UV_HTTP_", "UV_REQUEST_TIMEOUT", "UV_CONCURRENT_"),
    *("UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "UV_CONFIG_FILE", "UV_NO_CONFIG"),
    *("XDG_CACHE_HOME", "SSL_CERT_", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
)
# The same of pip's, which a container has in a file, since its variables are its own: the setting, and the variables that say it.
_PIP_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "index-url": ("PIP_INDEX_URL",),
    "extra-index-url": ("PIP_EXTRA_INDEX_URL",),
    "find-links": ("PIP_FIND_LINKS",),
    "no-index": ("PIP_NO_INDEX",),
    "trusted-host": ("PIP_TRUSTED_HOST",),
    "cert": ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"),
    "client-cert": ("PIP_CLIENT_CERT",),
    "proxy": ("PIP_PROXY", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"),
    "timeout": ("PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT"),
    "retries": ("PIP_RETRIES",),
}


def fetching_environment() -> dict[str, str]:
    """The variables with which packages are fetched: indexes, caches, proxies, authorities. No secret of ours is among them."""
    kept = {name: value for name, value in os.environ.items() if name.upper().startswith(_FETCHING)}
    return {**kept, "PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home())}


def pip_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """How pip in a container reaches packages, where this machine says it in its variables. A container on Azure needs none."""
    found = {name: [environment[one] for one in given if environment.get(one)] for name, given in _PIP_SETTINGS.items()}
    return {name: " ".join(values[0].split()) for name, values in found.items() if values}


def build_environment(home: Path) -> dict[str, str]:
    """The variables of a build step: the machine's tools and nothing of this server's."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8", "TMPDIR": str(home)}
