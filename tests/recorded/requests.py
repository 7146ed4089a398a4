"""The requests of `requests.yaml`: lives of resources, and calls of the data plane of a Batch account."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.embedded import SUBSCRIPTION
from tests.support.ssh_keys import PUBLIC_KEY

_FILLED_IN = {
    "{group}": f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{{unique}}",
    "{subscription}": SUBSCRIPTION,
    "{public_key}": PUBLIC_KEY,
}


@dataclass(frozen=True, slots=True)
class Life:
    """One resource, from its first PUT to the read that finds nothing."""

    arm_type: str
    path: str
    body: Mapping[str, Any]
    patch: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Call:
    """One request to the data plane of a Batch account."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str = ""


def _read() -> dict[str, Any]:
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    for word, meaning in _FILLED_IN.items():
        text = text.replace(word, meaning)
    return yaml.safe_load(text)


_READ = _read()
LIVES, FURTHER_LIVES, CLUSTER_LIVES = (
    tuple(Life(**each) for each in _READ[name]) for name in ("lives", "further_lives", "cluster_lives")
)
BATCH_CALLS = tuple(Call(**each) for each in _READ["batch_calls"])
