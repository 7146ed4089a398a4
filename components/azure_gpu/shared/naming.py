"""Builds physical names of resources from words such as project, team, stack and purpose, within the limits of each service.

The result is valid by the type's rule in `catalog.names`. The same words always give the same name; different words give
different names, also after cutting, except that hyphens inside and between words are the same.
"""

import hashlib
import re
from collections.abc import Sequence

from azure_gpu.catalog.names import RULES, NameRule

HASH_LENGTH = 8  # hex digits: two of a million names collide with a chance of about 1 in 10,000; within one stack far less
LETTER_FIRST = "n"  # prefix of a name that would begin with a digit, where the type requires a letter


def physical_name(arm_type: str, words: Sequence[str], *, subscription_id: str = "") -> str:
    """Builds the name of a resource of `arm_type` from `words`, the most general first, the purpose last.

    Words are lowercased and other characters become hyphens, or are removed where the type allows none. Where that or the type's
    limit changes a name, it ends in a hash of all words, and the most general words are dropped until the rest fits. A name that
    would begin with a digit where the type doesn't allow it begins with an n. A globally unique name always ends in a hash, which
    includes the subscription, so that two companies with equal words get different names.
    KeyError for a type without a rule.
    """
    rule = RULES[arm_type]
    separator = "-" if rule.pattern.fullmatch("a-a") else ""
    cleaned = [re.sub(r"[^a-z0-9]+", separator, word.lower()).strip("-") for word in words]
    plain = separator.join(cleaned)
    if rule.globally_unique:
        return _with_hash(rule, separator, cleaned, [subscription_id.lower(), *words])
    if plain == separator.join(words) and _fits(rule, plain):
        return plain
    return _with_hash(rule, separator, cleaned, words)


def cleaned(arm_type: str, word: str) -> str:
    """Returns the word if the rule allows it, else with hyphens in place of invalid characters; "" where nothing is left."""
    rule = RULES[arm_type]
    return word if _fits(rule, word) else re.sub(r"[^A-Za-z0-9._-]+", "-", word)[: rule.longest].strip("-.")


def _fits(rule: NameRule, name: str) -> bool:
    return rule.shortest <= len(name) <= rule.longest and rule.pattern.fullmatch(name) is not None


def _with_hash(rule: NameRule, separator: str, cleaned: Sequence[str], hashed: Sequence[str]) -> str:
    digest = hashlib.sha256("\0".join(hashed).encode()).hexdigest()[:HASH_LENGTH]
    room = rule.longest - len(separator) - len(digest)
    # One of 43 hashes has only digits, which some types don't allow after the last hyphen.
    ends = (digest, LETTER_FIRST + digest[1:])
    names = [name for end in ends for name in _variants(separator, cleaned, room, end)]
    return next((name for name in names if rule.pattern.fullmatch(name)), names[1])


def _variants(separator: str, cleaned: Sequence[str], room: int, digest: str) -> tuple[str, str]:
    """The name, and the same with a letter first."""
    return _joined(separator, cleaned, room, digest), LETTER_FIRST + _joined(separator, cleaned, room - 1, digest)


def _joined(separator: str, cleaned: Sequence[str], room: int, digest: str) -> str:
    words = [word for word in cleaned if word]
    while len(words) > 1 and len(separator.join(words)) > room:
        del words[0]
    return separator.join(part for part in (separator.join(words)[:room].strip("-"), digest) if part)
