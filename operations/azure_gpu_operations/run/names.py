"""What a run is called where several runs lie beside each other.

In: a target. Out: a name that Batch and Kubernetes take: at most 63 lowercase letters, digits and hyphens.
"""

import re
import secrets as random
from datetime import UTC, datetime

from azure_gpu_operations.run.target import Target

STAMP = "%Y%m%d-%H%M%S"
LONGEST = 63
_OTHERWISE = 25  # characters beside the word


def of_run(target: Target, longest: int = LONGEST) -> str:
    """With the time, and an end that keeps two runs of the same second apart. `longest`: characters, 30 or more."""
    word = target.context.repository if target.context else target.image or "command"
    plain = re.sub(r"[^a-z0-9]+", "-", word.lower().rpartition("/")[2]).strip("-")[-min(30, longest - _OTHERWISE) :].strip("-")
    return f"run-{plain}-{datetime.now(UTC).strftime(STAMP)}-{random.token_hex(2)}"
