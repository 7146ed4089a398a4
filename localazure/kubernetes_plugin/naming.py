"""The name of an object whose program gave none: the logical name, a dash, and eight hexadecimal digits.

Objects named so carry the annotation `pulumi.com/autonamed`, by which a later plan knows that a replacement may exist beside what
it replaces.
"""

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

from localazure.kubernetes_plugin.objects import AUTONAMED, Object, annotated, metadata, name
from localazure.plugin.naming import Autonaming, Mode
from localazure.plugin.wire import is_unknown

_DIGITS = 8


def named(inputs: Object, old_inputs: Object, logical_name: str, seed: bytes, autonaming: Autonaming) -> Object:
    """`inputs` with a name. ValueError where naming is disabled and there is none."""
    if is_unknown(inputs.get("metadata")) or name(inputs) or metadata(inputs).get("generateName"):
        return inputs
    if old_inputs:
        return _with_name(inputs, name(old_inputs)) if annotated(old_inputs, AUTONAMED) else inputs
    if autonaming.mode is Mode.DISABLE:
        raise ValueError(f"automatic naming is disabled, so '{logical_name}' needs metadata.name")
    if autonaming.mode in (Mode.PROPOSE, Mode.ENFORCE):
        return _with_name(inputs, autonaming.proposed_name)
    # The same seed gives the same name, so that an update plan and its execution agree.
    digits = hashlib.sha256(seed).hexdigest() if seed else secrets.token_hex(_DIGITS)
    return _with_name(inputs, f"{logical_name}-{digits[:_DIGITS]}")


def _with_name(inputs: Object, own: str) -> Object:
    found: dict[str, Any] = {**metadata(inputs), "name": own}
    annotations = found.get("annotations") or {}
    if isinstance(annotations, Mapping):
        found["annotations"] = {**annotations, AUTONAMED: "true"}
    return {**inputs, "metadata": found}
