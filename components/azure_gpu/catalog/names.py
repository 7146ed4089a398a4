"""Azure's rules for resource names, per type: length, characters, and whether the name is unique in all of Azure.

The rules are read from `names.csv` at the first use.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from azure_gpu.catalog import tables
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.tables import Keyed, Table


class NameRule(NamedTuple):
    """The rule for one type. `expression` doesn't include the length; `words` is for people."""

    shortest: int
    longest: int
    words: str
    expression: str
    globally_unique: bool  # one name in all of Azure, because it becomes a public host name
    source: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled on demand: most programs check few of the types."""
        return re.compile(self.expression)

    @property
    def allowed(self) -> str:
        lengths = f"{self.shortest} to {self.longest}" if self.shortest != self.longest else f"exactly {self.longest}"
        return f"{lengths} characters: {self.words}"


# No ARM types: what tells an image's definition from others in its gallery.
GALLERY_PUBLISHER = "Microsoft.Compute/galleries/images/identifier/publisher"
GALLERY_OFFER = "Microsoft.Compute/galleries/images/identifier/offer"
GALLERY_SKU = "Microsoft.Compute/galleries/images/identifier/sku"
# No ARM types: parts of a container group.
CONTAINER = "Microsoft.ContainerInstance/containerGroups/containers"
VOLUME = "Microsoft.ContainerInstance/containerGroups/volumes"
DNS_LABEL = "Microsoft.ContainerInstance/containerGroups/dnsNameLabels"

TABLE = Table(
    tables.beside(__file__, "names.csv"),
    {
        "type": "the ARM type, or one of those above",
        "shortest": "number of characters",
        "longest": "number of characters",
        "words": "the allowed characters, for people",
        "expression": "a regular expression of the whole name, without its length",
        "globally_unique": "one name in all of Azure, because it becomes a public host name: yes or no",
        "source": "where the rule was read, with its date",
        "note": "why the rule isn't the source's",
    },
)


def _read() -> dict[str, NameRule]:
    return {
        name: NameRule(
            row.whole("shortest") or 0,
            row.whole("longest") or 0,
            row.filled("words"),
            row.filled("expression"),
            row.yes("globally_unique"),
            row.filled("source"),
        )
        for name, row in tables.by_name(tables.read(TABLE), "type").items()
    }


RULES: Mapping[str, NameRule] = Keyed(_read)
_BY_LOWER_TYPE: Mapping[str, NameRule] = Keyed(lambda: {arm_type.lower(): rule for arm_type, rule in RULES.items()})


def rule_for(arm_type: str) -> NameRule | None:
    """The rule for a type, spelt in any letter case; None if the table has none."""
    return _BY_LOWER_TYPE.get(arm_type.lower())


def check(arm_type: str, name: str, path: str) -> list[Problem]:
    """One problem where `name` breaks the type's rule, else none. `path` is where the user wrote the name."""
    rule = rule_for(arm_type)
    if rule is None or (rule.shortest <= len(name) <= rule.longest and rule.pattern.fullmatch(name)):
        return []
    words = {"allowed": rule.allowed, "fix": _suggestion(rule, name), "source": rule.source}
    return [refused("name.invalid", path, name, kind=arm_type.rsplit("/", 1)[-1], **words)]


def _suggestion(rule: NameRule, name: str) -> str:
    """The name without the characters that aren't allowed, if that is a valid name."""
    for candidate in (name, name.lower(), re.sub(r"[^a-z0-9]+", "-", name.lower()), re.sub(r"[^a-z0-9]+", "", name.lower())):
        fitting = candidate[: rule.longest].strip("-.")
        if len(fitting) >= rule.shortest and rule.pattern.fullmatch(fitting):
            return f"write {fitting!r}"
    return "use only the allowed characters"
