"""Answers as recordings: JSON files in the form that `make replay` reads (tests/recorded/README.md), without secrets.

In: exchanges. Out: files. Subscription, tenant and other ids of people are zeros, secrets and keys are taken out.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from tests.conformance.azure import PUBLIC, Azure, Exchange
from tests.support.embedded import SUBSCRIPTION

_OWN_GUIDS = ("principalid", "objectid", "clientid", "appid", "tenantid", "createdby", "lastmodifiedby")
_SECRET = re.compile(
    r"key$|keys$|secret|password|token|connectionstring|signature|sasurl|kubeconfig|protectedsettings|customdata"
)
_HARMLESS = re.compile(
    r"publickey|keydata|keyvault|keysource|keytype|keypolicy|disablelocal|sharedkeyaccess|secreturl|publictoken"
)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")
_SIGNED = re.compile(r"([?&]sig=)[^&\"\s]+")
HIDDEN = "{hidden}"


def write(folder: Path, name: str, exchanges: Iterable[Exchange], azure: Azure, day: date) -> Path:
    """One recording. The folder is readable by its owner only."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    host = PUBLIC.removeprefix("https://")
    interactions = [{"host": host, **masked(asdict(each), azure)} for each in exchanges]
    content = {"name": name, "path": f"conformance/{name}", "recorded": day.isoformat(), "interactions": interactions}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def masked(value: Any, azure: Azure, key: str = "") -> Any:
    """`value` without what may not leave the machine."""
    if isinstance(value, dict):
        return {masked(str(name), azure): masked(each, azure, str(name).lower()) for name, each in value.items()}
    if isinstance(value, list):
        return [masked(each, azure, key) for each in value]
    if not isinstance(value, str) or not value:
        return value
    if _SECRET.search(key) and not _HARMLESS.search(key):
        return HIDDEN
    if key.endswith(_OWN_GUIDS) and not value.startswith("["):
        return SUBSCRIPTION
    for own in filter(None, (azure.subscription, azure.tenant)):
        value = re.sub(re.escape(own), SUBSCRIPTION, value, flags=re.IGNORECASE)
    value = value.replace(str(azure.client.base_url).rstrip("/"), PUBLIC)
    return _SIGNED.sub(rf"\1{HIDDEN}", _MAIL.sub("someone@example.com", value))
