"""ARM's errors for templates, their parameters, and deployments as a whole.

Sentences of ARM were read in public issues of Azure/azure-cli and Azure/bicep; ARM reports a template's first problem, here all
of them are told.
"""

import re
import uuid
from collections.abc import Sequence

from azure_gpu.catalog.problems import Problem
from localazure.arm.errors import ArmError, arm_error, not_implemented
from localazure.weather.policies import DISALLOWED

FILE = "template"  # what the documents of requests are called
_PLACE = re.compile(r"[^:]*:(?P<line>[0-9]+)(?:: (?P<path>.*))?", re.DOTALL)


def invalid_template(problems: Sequence[Problem]) -> ArmError:
    """One error for all problems of a template, with the place of each as clients show it."""
    message = f"Deployment template validation failed: '{_sentences(problems)}'."
    places = [place_of(problem) for problem in problems]
    violations = [
        {"type": "TemplateViolation", "info": {"lineNumber": line, "linePosition": 0, "path": path}} for line, path in places
    ]
    return ArmError(400, "InvalidTemplate", message, target=places[0][1], info=violations)


def unprocessed(problems: Sequence[Problem], resource_id: str) -> ArmError:
    """An expression that failed while the deployment was running."""
    line, _ = place_of(problems[0])
    where = f"Unable to process template language expressions for resource '{resource_id}' at line '{line}'."
    return ArmError(400, "InvalidTemplate", f"{where} '{_sentences(problems)}'", target=resource_id)


def not_valid(name: str, errors: Sequence[ArmError]) -> ArmError:
    """What would be refused when the resources are made, found before any is. The sentence about policies:
    Azure-Samples/azure-search-openai-demo issue 120 (2023-04-17), of a deployment to a subscription; about several errors with
    one of a policy: Azure/azure-cli issue 6075 (2018-04-13)."""
    by_policy = sum(error.code == DISALLOWED for error in errors)
    if by_policy:
        because = "because of policy violation" if by_policy == len(errors) else "with multiple errors"
        message = f"The template deployment failed {because}. Please see details for more information."
        return ArmError(400, "InvalidTemplateDeployment", message, details=errors)
    return ArmError(
        400,
        "InvalidTemplateDeployment",
        f"The template deployment '{name}' is not valid according to the validation procedure. The tracking id is "
        f"'{uuid.uuid4()}'. See inner errors for details.",
        details=errors,
    )


def parameter_values(problems: Sequence[Problem]) -> ArmError:
    """A parameter that came without a value."""
    if any("key vault" in problem.message for problem in problems):
        return not_implemented("parameters from a key vault")
    return arm_error("InvalidDeploymentParameterValue", sentences=_sentences(problems))


def unreadable(problems: Sequence[Problem]) -> ArmError:
    """A body that isn't the JSON that ARM takes."""
    return ArmError(
        400, "InvalidRequestContent", f"The request content was invalid and could not be deserialized: '{_sentences(problems)}'."
    )


def place_of(problem: Problem) -> tuple[int, str]:
    """Line and path of a problem; the path as the template's author knows it."""
    found = _PLACE.fullmatch(problem.path)
    if found is None:
        return 0, problem.path
    path = found["path"] or ""
    return int(found["line"]), path.removeprefix("properties.template.").removeprefix("properties.")


def _sentences(problems: Sequence[Problem]) -> str:
    return " ".join(map(_sentence, problems))


def _sentence(problem: Problem) -> str:
    line, path = place_of(problem)
    where = f" at line '{line}'" + (f" ({path})" if path else "")
    shown = f": {problem.value}" if isinstance(problem.value, str) and problem.value.startswith("[") else ""
    allowed = f"; allowed: {problem.allowed}" if problem.allowed else ""
    fix = f"; {problem.fix}" if problem.fix else ""
    message = problem.message[:1].upper() + problem.message[1:]
    return f"{message}{where}{shown}{allowed}{fix}".rstrip("?.") + "."
