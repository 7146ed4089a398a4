"""Azure's limits for tags, by the strictest resource type of this project: the storage account.

The keys that the program sets itself are in `formats.tags`.
"""

from collections.abc import Mapping

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused

SOURCE = "Microsoft Learn, azure-resource-manager/management/tag-resources, as quoted in public copies, read 2026-11-20"
MOST_TAGS = 50  # a resource
LONGEST_KEY = 128  # storage accounts; other resources take 512
LONGEST_VALUE = 256
FORBIDDEN_IN_KEYS = "<>%&\\?/"


def check(tags: Mapping[str, str], path: str, most: int = MOST_TAGS) -> list[Problem]:
    """Problems of `tags`. `most`: the number left for the user beside the program's own tags."""
    problems: list[Problem] = []
    if len(tags) > most:
        problems.append(refused("tags.too_many", path, len(tags), source=SOURCE, most=most))
    for key, value in tags.items():
        if not key or len(key) > LONGEST_KEY or any(character in FORBIDDEN_IN_KEYS for character in key):
            problems.append(
                refused("tags.bad_key", path, key, source=SOURCE, longest_key=LONGEST_KEY, forbidden_in_keys=FORBIDDEN_IN_KEYS)
            )
        if len(value) > LONGEST_VALUE:
            problems.append(
                refused(
                    "tags.value_too_long", f"{path}.{key}", value, source=SOURCE, longest_value=LONGEST_VALUE, length=len(value)
                )
            )
    return problems
