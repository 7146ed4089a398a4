"""Parses the command line and variables of the NVIDIA programs, which read both: a flag overrides its variable.

A variable is its flag in upper case, `MIG_STRATEGY` of `--mig-strategy`. Flags without an effect here are passed over.
"""

from collections.abc import Mapping, Sequence

from localazure.kubernetes.infrastructure.context import WrongUseError

_READ = ("mig-strategy", "fail-on-init-error", "config-file", "device-id-strategy", "node-name", "namespace")
_OF_DISCOVERY = ("oneshot", "no-timestamp")  # variables begin with GFD_
_BOOLEANS = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}


def values(arguments: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """What is set, by flag."""
    variables = {flag: flag.upper().replace("-", "_") for flag in _READ}
    variables |= {flag: f"GFD_{flag.upper().replace('-', '_')}" for flag in _OF_DISCOVERY}
    found = {flag: env[variable] for flag, variable in variables.items() if env.get(variable)}
    words = list(arguments)
    while words:
        word = words.pop(0)
        flag, joined, value = word.lstrip("-").partition("=")
        if word.startswith("-"):
            follows = not joined and bool(words) and not words[0].startswith("-")
            found[flag] = value if joined else words.pop(0) if follows else "true"
    return found


def switch(found: Mapping[str, str], flag: str, default: bool = False) -> bool:
    text = found.get(flag, str(default)).lower()
    if text not in _BOOLEANS:
        raise WrongUseError(f'could not parse "{text}" as bool value for flag {flag}: parse error')
    return _BOOLEANS[text]
