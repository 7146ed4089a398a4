"""The catalog's problems as a service refuses them: under a code of Azure's, with every problem among its details.

A problem has a code, a fix and its own rank for the program's users; none of them is the service's, and none is answered.
"""

import re
from collections.abc import Iterable, Sequence

from azure_gpu.catalog.problems import Code, Problem, errors
from localazure.arm.errors import ArmError

_ANSWER = re.compile(r"; Azure answers (\w+)$")  # how a problem names the service's own code


def of_service(problems: Iterable[Problem]) -> list[Problem]:
    """Those that the service has too. Which driver a program needs is known to no service: it sells the machine all the same."""
    return [problem for problem in errors(problems) if problem.code is not Code.WRONG_DRIVER]


def refusal(problems: Sequence[Problem], code: str, status: int = 400) -> ArmError:
    """`problems` isn't empty. The paths in them are the body's. `code` stands where the first of them names none of the service's
    own."""
    own = _ANSWER.search(problems[0].message)
    code = own[1] if own else code
    details = [ArmError(status, code, sentence(problem), target=problem.path) for problem in problems]
    return ArmError(status, code, " ".join(detail.message for detail in details), target=problems[0].path, details=details)


def sentence(problem: Problem) -> str:
    """What is wrong, and what is allowed."""
    message = _ANSWER.sub("", problem.message)
    parts = [message[0].upper() + message[1:]]
    parts += [f"allowed: {problem.allowed}"] if problem.allowed else []
    return f"{'; '.join(parts)}."
