"""The environment in which git reads the repository of a folder that is named.

A program that git itself starts, such as a hook, inherits variables that name another repository, and they win over `git -C
FOLDER`. How the user has set git up stays.
"""

import os

# `git rev-parse --local-env-vars`, those that say where a repository's parts are.
_OF_A_REPOSITORY = frozenset(
    f"GIT_{name}"
    for name in (
        *("ALTERNATE_OBJECT_DIRECTORIES", "COMMON_DIR", "DIR", "GRAFT_FILE", "IMPLICIT_WORK_TREE", "INDEX_FILE"),
        *("OBJECT_DIRECTORY", "PREFIX", "SHALLOW_FILE", "WORK_TREE"),
    )
)


def environment(**more: str) -> dict[str, str]:
    """This process' own, without what names a repository; `more` is added."""
    return {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY} | more
