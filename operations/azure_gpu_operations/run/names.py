"""Unique names of runs, valid for Batch and Kubernetes: at most 63 lowercase letters, digits and hyphens."""

import re
import secrets as random
from datetime import UTC, datetime

from azure_gpu_operations.run.target import Target

STAMP = "%Y%m%d-%H%M%S"
LONGEST = 63
_OTHERWISE = 25  # characters of the other parts


def of_run(target: Target, longest: int = LONGEST) -> str:
    """Target, time and a random suffix. `longest`: maximum length, at least 30."""
    word = target.context.repository if target.context else target.image or "command"
    plain = re.sub(r"[^a-z0-9]+", "-", word.lower().rpartition("/")[2]).strip("-")[-min(30, longest - _OTHERWISE) :].strip("-")
    return f"run-{plain}-{datetime.now(UTC).strftime(STAMP)}-{random.token_hex(2)}"
