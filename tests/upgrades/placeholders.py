"""Takes out of a record what is one embedded Azure's alone: secrets, ports, its state folder, hashes of today's workloads.

Each is replaced everywhere, so that what the program makes of an answer is still what the state says.
"""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

from azure_gpu.formats.build_context import context_hash
from azure_gpu.shared import workloads
from tests.components.recording import SECRET_SIGNATURE
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.upgrades.program import tag_of
from tests.upgrades.records import Record

_PORT = re.compile(r"\b(localhost|127\.0\.0\.1):\d+")
_KEYS = re.compile(r"(key|password|secret|token)s?$", re.IGNORECASE)  # names in answers that hold secrets
_INSTRUMENTATION = re.compile(r'"instrumentationKey": "([^"]+)"')  # which the state has in plain text


def put(record: Record, azure: ServedAzure) -> Record:
    for call in record["invokes"]:
        for kubeconfig in call["answer"].get("kubeconfigs", ()):
            kubeconfig["value"] = base64.b64encode(_PORT.sub(r"\1:8443", _decoded(kubeconfig["value"])).encode()).decode()
    text = json.dumps(record)
    answers = _keys([call["answer"] for call in record["invokes"]])
    found = {azure.client_secret, azure.admin_token, *_secrets(record["state"]), *answers}
    secrets = {json.dumps(each)[1:-1] for each in found} | set(_INSTRUMENTATION.findall(text))
    there = (secret for secret in secrets if secret in text)
    for number, secret in enumerate(sorted(there, key=lambda each: (-len(each), text.find(each)))):
        text = text.replace(secret, f"secret-{number}")
    for context in map(workloads.context, workloads.NAMES):
        text = text.replace(context_hash(context), tag_of(context))
    text = text.replace(str(azure.state), "/state").replace(str(CHECKOUT), "/checkout")
    return json.loads(_PORT.sub(r"\1:8443", text))


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()


def _secrets(value: Any) -> Iterator[str]:
    """Texts that the engine keeps encrypted."""
    if isinstance(value, dict) and SECRET_SIGNATURE in value:
        yield from _texts(json.loads(value["plaintext"]))
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _secrets(inner)


def _keys(value: Any, name: str = "") -> Iterator[str]:
    """Texts in an answer that are secret by their name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _keys(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, name)
    elif isinstance(value, str) and _KEYS.search(name) and value:
        yield value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
    elif isinstance(value, str) and value:
        yield value
