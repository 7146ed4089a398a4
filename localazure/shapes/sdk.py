"""Classes and functions of the installed pulumi-azure-native package, safe to ask for from several threads."""

import importlib
import threading
from typing import Any

PACKAGE = "pulumi_azure_native"

# The package's modules load on first use, which Python before 3.12 doesn't guard: a second thread finds them half loaded.
_loading = threading.Lock()


def member(module: str, name: str) -> Any:
    """`name` of `pulumi_azure_native.<module>`."""
    with _loading:
        return getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)
