"""The two functions that make names out of texts: `uniqueString` and `guid`. Both answer what Azure answers.

`uniqueString` isn't documented; several people have found it to be a 64-bit Murmur3 in two lanes of 32 bits, written in base 32.
The tests hold it against values that Azure gave. `guid` is a version 5 UUID in a namespace that Microsoft Learn states
(azure-resource-manager/bicep/bicep-functions-string). Both join their arguments with hyphens.
"""

import json
import uuid
from collections.abc import Sequence

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_NAMESPACE = uuid.UUID("11fb06fb-712d-4ddd-98c7-e71bbd588830")
_MASK = 0xFFFFFFFF
_FIRST, _SECOND = 0x239B961B, 0xAB0E9789  # multipliers of the two lanes


def guid(texts: Sequence[str]) -> str:
    return str(uuid.uuid5(_NAMESPACE, "-".join(texts)))


def unique_string(texts: Sequence[str]) -> str:
    """13 letters and digits."""
    number = _hash("-".join(texts).encode("utf-8", "replace"))
    return "".join(
        _ALPHABET[number >> shift & 31] if shift >= 0 else _ALPHABET[number << -shift & 31] for shift in range(59, -6, -5)
    )


def _hash(data: bytes) -> int:
    one = two = 0
    whole = len(data) // 8 * 8
    for start in range(0, whole, 8):
        one ^= _lane_one(data[start : start + 4])
        one = (_rotated(one, 19) + two) * 5 + 0x561CCD1B & _MASK
        two ^= _lane_two(data[start + 4 : start + 8])
        two = (_rotated(two, 13) + one) * 5 + 0x0BCAA747 & _MASK
    one ^= _lane_one(data[whole : whole + 4])
    two ^= _lane_two(data[whole + 4 :])
    one, two = one ^ len(data), two ^ len(data)
    one = one + two & _MASK
    two = two + one & _MASK
    one, two = _mixed(one), _mixed(two)
    one = one + two & _MASK
    two = two + one & _MASK
    return two << 32 | one


def _lane_one(part: bytes) -> int:
    return _rotated(int.from_bytes(part, "little") * _FIRST & _MASK, 15) * _SECOND & _MASK


def _lane_two(part: bytes) -> int:
    return _rotated(int.from_bytes(part, "little") * _SECOND & _MASK, 17) * _FIRST & _MASK


def _rotated(number: int, by: int) -> int:
    return (number << by | number >> 32 - by) & _MASK


def _mixed(number: int) -> int:
    """Murmur3's last step: every bit of the input reaches every bit of the result."""
    number = (number ^ number >> 16) * 0x85EBCA6B & _MASK
    number = (number ^ number >> 13) * 0xC2B2AE35 & _MASK
    return number ^ number >> 16


def template_hash(template: object) -> str:
    """A number that stands for a template's content; not the one that Azure would give."""
    return str(_hash(json.dumps(template, separators=(",", ":"), sort_keys=True).upper().encode()))
