"""How a problem says what to do, where a stack file describes the component and where a program does.

In: the path of the problem, which begins with `BatchPool("train")` in a program. Out: the end of a sentence.
"""

import re

PART_IDS = {  # the argument by which a program gives a component a part of the foundation
    "identity": "identity_id",
    "registry": "registry_id",
    "log_workspace": "log_workspace_id",
    "storage": "storage_account_id",
}
_IN_A_PROGRAM = re.compile(r"[A-Z]\w*\(\"")


def is_in_program(path: str) -> bool:
    """Whether a program describes what is at `path`."""
    return _IN_A_PROGRAM.match(path) is not None


def give_part(path: str, part: str) -> str:
    """How to give a component a part of the foundation, such as `identity`."""
    return f"add {PART_IDS[part]} or foundation" if is_in_program(path) else f"add {part}: create to the foundation"


def with_part(path: str, part: str) -> str:
    """Where something is allowed that needs such a part."""
    return f"with {PART_IDS[part]}, or a foundation that has it" if is_in_program(path) else f"with foundation.{part}"


def says(path: str) -> str:
    """Who describes the component."""
    return "the program says" if is_in_program(path) else "the stack file says"


def stacks(path: str, part: str) -> str:
    """What a component shares with others, such as `identity`: in a stack file it is the stack's."""
    article = "an" if part[0] in "aeiou" else "a"
    return f"{article} {part}" if is_in_program(path) else f"the stack's {part}"


def has_no(path: str, part: str) -> str:
    """That such a part isn't there."""
    return f"there is no {part}" if is_in_program(path) else f"the stack has no {part}"


def give_secret(path: str) -> str:
    """How to give a secret at `path`."""
    if is_in_program(path):
        return "give an output that is secret, such as pulumi.Config().require_secret(…)"
    return f"pulumi config set --secret --path '{path}'"


def a_secret(path: str) -> str:
    """What is allowed at `path`, where it has to be a secret."""
    return "an output that is secret" if is_in_program(path) else "a secret of the stack file"
