"""The body of a request to deploy: template, parameters and mode.

The body needn't be JSON: what can't be read is an ArmError. Templates and parameters that ARM would fetch from elsewhere are
refused with 501.
"""

from typing import Any, NamedTuple

from azure_gpu.formats import arm_template, lenient_json
from azure_gpu.formats.document import Document
from localazure.arm.errors import ArmError, arm_error, not_implemented
from localazure.arm.store import Body
from localazure.deployments import refusals

TEMPLATE = "properties.template"
MODES = {"incremental": "Incremental", "complete": "Complete"}
_ELSEWHERE = ("templateLink", "parametersLink", "onErrorDeployment", "extensionConfigs", "externalInputs")


class DeploymentRequest(NamedTuple):
    """One request to deploy, validate or compare."""

    document: Document  # the whole body; the template is at `TEMPLATE`
    parameters: dict[str, Any]
    mode: str
    tags: dict[str, str]
    location: str  # of a deployment to a subscription; "" where none is given
    only_ids: bool  # what-if: without the resources' contents

    @property
    def template(self) -> Any:
        return self.document.value["properties"]["template"]


def read(content: bytes) -> DeploymentRequest:
    """The request. ArmError 400 or 501."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArmError(400, "InvalidRequestContent", "The request content was invalid: it is not UTF-8.") from error
    document, problems = lenient_json.read_deployment_body(text, refusals.FILE)
    if document is None or problems:
        raise refusals.unreadable(problems)
    return of_document(document)


def of_document(document: Document) -> DeploymentRequest:
    """The request that a body's document holds."""
    body = document.value
    properties = body.get("properties") if isinstance(body, dict) else None
    if not isinstance(properties, dict):
        raise ArmError(400, "InvalidRequestContent", "The request content was invalid: it has no 'properties'.")
    for name in _ELSEWHERE:
        if properties.get(name):
            raise not_implemented(f"'{name}' of a deployment")
    if not isinstance(properties.get("template"), dict):
        raise ArmError(400, "InvalidTemplate", "Deployment template validation failed: 'The template is not provided.'.")
    mode = MODES.get(str(properties.get("mode", "")).lower())
    if mode == "Complete":
        raise not_implemented("the mode 'Complete' of a deployment")
    if mode is None:
        raise arm_error("InvalidDeploymentMode", target="properties.mode", mode=properties.get("mode"))
    given = properties.get("parameters") or {}
    if not isinstance(given, dict):
        raise ArmError(400, "InvalidRequestContent", "The request content was invalid: 'parameters' is not an object.")
    parameters, problems = arm_template.read_values(given, "properties.parameters", document)
    if problems:
        raise refusals.parameter_values(problems)
    return DeploymentRequest(document, parameters, mode, _tags(body), str(body.get("location") or ""), _only_ids(properties))


def _tags(body: Body) -> dict[str, str]:
    tags = body.get("tags") or {}
    if not isinstance(tags, dict) or not all(isinstance(value, str) for value in tags.values()):
        raise ArmError(400, "InvalidRequestContent", "The request content was invalid: 'tags' is not an object of texts.")
    return tags


def _only_ids(properties: Body) -> bool:
    settings = properties.get("whatIfSettings")
    return isinstance(settings, dict) and str(settings.get("resultFormat", "")).lower() == "resourceidonly"
