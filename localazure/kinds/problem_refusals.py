"""The catalog's problems as ARM's refusal: one error, with every problem among its details."""

import re
from collections.abc import Sequence

from azure_gpu.catalog.problems import Problem
from localazure.arm.errors import ArmError

_ANSWER = re.compile(r"; Azure answers (\w+)$")  # how a problem names the service's own code


def refusal(problems: Sequence[Problem], code: str, status: int = 400) -> ArmError:
    """`problems` isn't empty. The paths in them are the body's. `code` stands where the first of them names none of the service's
    own."""
    details = [_detail(problem) for problem in problems]
    own = _ANSWER.search(problems[0].message)
    code = own[1] if own else code
    return ArmError(status, code, " ".join(detail.message for detail in details), target=problems[0].path, details=details)


def _detail(problem: Problem) -> ArmError:
    parts = [problem.message[0].upper() + problem.message[1:]]
    parts += [f"given: {problem.value}"] if problem.value is not None else []
    parts += [f"allowed: {problem.allowed}"] if problem.allowed else []
    parts += [f"fix: {problem.fix}"] if problem.fix else []
    return ArmError(400, problem.code.value, "; ".join(parts) + ".", target=problem.path)
