"""Physical names: who owns a resource and what it is for, within the limits of each service.

In: the words that a name carries (project, team, stack, and what the resource is). Out: one name that the type's rule in
`catalog.names` takes. The same words always lead to the same name; different words to different names, also after cutting, except
that a hyphen inside a word can't be told from one between words.
"""

import hashlib
import re
from collections.abc import Sequence

from azure_gpu.catalog.names import RULES, NameRule

HASH_LENGTH = 8  # hex digits: two of a million names collide with a chance of about 1 in 10,000; within one stack far less
LETTER_FIRST = "n"  # put before a name that would begin with a digit, where the type wants a letter


def physical_name(arm_type: str, words: Sequence[str], *, subscription_id: str = "") -> str:
    """The name of a resource of `arm_type` from its `words`, the most general first, what it is last.

    Words are lowercased and other characters become hyphens, or nothing where the type takes none. Where that or the type's limit
    changes a name, it ends in a hash of all words, and the most general words are left out until the rest has room. Where a name
    would begin with a digit and may not, it begins with an n. A name that has to be unique in all of Azure always ends in a hash,
    over the subscription too, so that two companies with equal words don't meet.
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
    """The word as it is where the rule takes it, else with hyphens for what it doesn't take; "" where nothing is left of it."""
    rule = RULES[arm_type]
    return word if _fits(rule, word) else re.sub(r"[^A-Za-z0-9._-]+", "-", word)[: rule.longest].strip("-.")


def _fits(rule: NameRule, name: str) -> bool:
    return rule.shortest <= len(name) <= rule.longest and rule.pattern.fullmatch(name) is not None


def _with_hash(rule: NameRule, separator: str, cleaned: Sequence[str], hashed: Sequence[str]) -> str:
    digest = hashlib.sha256("\0".join(hashed).encode()).hexdigest()[:HASH_LENGTH]
    room = rule.longest - len(separator) - len(digest)
    # Of 43 hashes one is of digits alone, which some types don't take after the last hyphen.
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
