"""Azure's limits for tags, by the strictest resource type of this project: the storage account.

The keys that the program sets itself are in `formats.tags`.
"""

from collections.abc import Mapping

from azure_gpu.catalog.problems import Problem

SOURCE = "Microsoft Learn, azure-resource-manager/management/tag-resources, as quoted in public copies, read 2026-11-20"
MOST_TAGS = 50  # a resource
LONGEST_KEY = 128  # storage accounts; other resources take 512
LONGEST_VALUE = 256
FORBIDDEN_IN_KEYS = "<>%&\\?/"


def check(tags: Mapping[str, str], path: str, most: int = MOST_TAGS) -> list[Problem]:
    """Problems of `tags`. `most`: the number left for the user beside the program's own tags."""
    problems: list[Problem] = []
    if len(tags) > most:
        problems.append(
            Problem(
                path=path, message="too many tags", value=len(tags), allowed=f"{most} at most", fix="remove some", source=SOURCE
            )
        )
    for key, value in tags.items():
        if not key or len(key) > LONGEST_KEY or any(character in FORBIDDEN_IN_KEYS for character in key):
            allowed = f"1 to {LONGEST_KEY} characters, none of {FORBIDDEN_IN_KEYS}"
            problems.append(
                Problem(path=path, message="not a valid tag key", value=key, allowed=allowed, fix="rename it", source=SOURCE)
            )
        if len(value) > LONGEST_VALUE:
            problems.append(
                Problem(
                    path=f"{path}.{key}",
                    message=f"tag value too long: {len(value)} characters",
                    value=value,
                    allowed=f"{LONGEST_VALUE} characters at most",
                    fix="shorten it",
                    source=SOURCE,
                )
            )
    return problems
