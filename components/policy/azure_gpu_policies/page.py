"""Generates docs/policies.md: `python -m azure_gpu_policies.page` prints it."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from azure_gpu_policies.model import DATED, EXCEPTIONS, Policy, Setting
from azure_gpu_policies.policies import ALL

_TEXT = Path(__file__).with_suffix(".md")
CONFIGURED: dict[str, Any] = {
    "gpu-retired": {"enforcementLevel": "advisory", "exceptions": ["*:Pool::legacy"]},
    "allowed-regions": {"enforcementLevel": "mandatory", "regions": ["westeurope", "swedencentral"]},
    "public-endpoint": {"identity_is_enough": False},
    "gpu-price-stack": {"enforcementLevel": "mandatory", "usd_hour": 100},
    "gpu-scale-to-zero": "disabled",
}
_COMMON = (EXCEPTIONS, *DATED)


def page() -> str:
    filled = {
        "configured": f"```json\n{json.dumps(CONFIGURED, indent=2)}\n```\n",
        "common": "".join(_row(each) for each in _COMMON),
        "policies": "".join(map(_policy, ALL)),
        "own": "".join(_row(each, f"`{policy.name}` | ") for policy in ALL for each in _own(policy)),
    }
    text = _TEXT.read_text(encoding="utf-8")
    for name, lines in filled.items():
        text = text.replace(f"<<{name}>>", lines)
    return text


def _policy(policy: Policy) -> str:
    of = "a resource" if policy.of_resource is not None else "the stack"
    return f"| `{policy.name}` | {policy.level} | {policy.severity} | {of} | {policy.description} {policy.fix} |\n"


def _row(setting: Setting, before: str = "") -> str:
    return f"| {before}`{setting.name}` | {_shown(setting)} | {setting.schema['description']} |\n"


def _own(policy: Policy) -> Sequence[Setting]:
    return [each for each in policy.own_settings if each not in _COMMON]


def _shown(setting: Setting) -> str:
    default = setting.default
    if isinstance(default, list):
        return ", ".join(f"`{each}`" for each in setting.schema["default"]) or "none"
    return f"`{json.dumps(default)}`" if default != "" else "none"


if __name__ == "__main__":
    sys.stdout.write(page())
