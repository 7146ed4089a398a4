"""Words of problems that differ between a stack file and a program, whose paths begin with `BatchPool("train")`."""

import re

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused

PART_IDS = {  # the argument of a component in a program for each part of the foundation
    "identity": "identity_id",
    "registry": "registry_id",
    "log_workspace": "log_workspace_id",
    "storage": "storage_account_id",
}
_IN_A_PROGRAM = re.compile(r"[A-Z]\w*\(\"")


def is_in_program(path: str) -> bool:
    """Whether `path` is in a program."""
    return _IN_A_PROGRAM.match(path) is not None


def give_part(path: str, part: str) -> str:
    """The fix for a missing part of the foundation, such as `identity`."""
    return f"add {PART_IDS[part]} or foundation" if is_in_program(path) else f"add {part}: create to the foundation"


def with_part(path: str, part: str) -> str:
    """The allowed case of a setting that requires such a part."""
    return f"with {PART_IDS[part]}, or a foundation that has it" if is_in_program(path) else f"with foundation.{part}"


def without_part(refusal: str, path: str, part: str) -> Problem:
    """The refusal of a setting at `path` that requires such a part."""
    return refused(refusal, path, part=stacks(path, part), allowed=with_part(path, part), fix=give_part(path, part))


def stacks(path: str, part: str) -> str:
    """A required part, such as `identity`."""
    article = "an" if part[0] in "aeiou" else "a"
    return f"{article} {part}" if is_in_program(path) else f"the stack's {part}"


def has_no(path: str, part: str) -> str:
    """A clause about a missing part."""
    return f"there is no {part}" if is_in_program(path) else f"the stack has no {part}"


def give_secret(path: str) -> str:
    """The fix for a missing secret at `path`."""
    if is_in_program(path):
        return "give an output that is secret, such as pulumi.Config().require_secret(…)"
    return f"pulumi config set --secret --path '{path}'"


def a_secret(path: str) -> str:
    """The allowed value at `path` of a secret."""
    return "an output that is secret" if is_in_program(path) else "a secret of the stack file"
