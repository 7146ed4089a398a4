"""What is wrong with the arguments of `sizes`."""

import sys
from collections.abc import Iterable

from azure_gpu.catalog.problems import Problem, errors


def are_wrong(problems: Iterable[Problem]) -> bool:
    """Reports errors and warnings; whether there is an error."""
    found = list(problems)
    for problem in found:
        print(f"{problem.severity.value}: {problem}", file=sys.stderr)
    return bool(errors(found))
