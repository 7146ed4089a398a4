"""Looks up the parts of a deployment: its endpoint, workspace, model, environment and code.

Names of resources are ARM ids, with or without `azureml:` in front; a registry's are refused explicitly.
"""

from typing import NamedTuple

from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.store import Resource
from localazure.services import Services

_PREFIX = "azureml:"


class Assets(NamedTuple):
    """A deployment's parts. "" where it has none of a kind."""

    endpoint: Resource
    workspace: Resource
    environment: Resource
    model_uri: str
    model_name: str
    model_version: str
    code_uri: str
    gpus: int  # of one instance


def of_deployment(deployment: Resource, services: Services) -> Assets:
    """ArmError 400 where a part doesn't exist."""
    endpoint = services.store.get(deployment.id.scope)
    workspace = services.store.get(endpoint.id.scope) if endpoint is not None else None
    if endpoint is None or workspace is None:
        raise ValueError("a deployment lies below an endpoint and a workspace")
    properties = deployment.properties
    environment = version(str(properties.get("environmentId") or ""), azure_types.ML_ENVIRONMENT_VERSION, services)
    given_model, given_code = properties.get("model"), (properties.get("codeConfiguration") or {}).get("codeId")
    model = version(str(given_model), azure_types.ML_MODEL_VERSION, services) if given_model else None
    code = version(str(given_code), azure_types.ML_CODE_VERSION, services) if given_code else None
    size = SIZES.find(str(properties.get("instanceType") or ""))
    gpus = 0 if size is None or size.gpu_count is None else -(-size.gpu_count.numerator // size.gpu_count.denominator)
    return Assets(
        endpoint=endpoint,
        workspace=workspace,
        environment=environment,
        model_uri=str(model.properties.get("modelUri") or "") if model else "",
        model_name=model.id.scope.rsplit("/", 1)[-1] if model else "",
        model_version=model.id.name if model else "",
        code_uri=str(code.properties.get("codeUri") or "") if code else "",
        gpus=gpus,
    )


def version(text: str, requested: AzureType, services: Services) -> Resource:
    """The version of a model, an environment or code that an id names. ArmError 400 where there is none."""
    what = requested.arm_type.split("/")[-2]
    path = text.removeprefix(_PREFIX)
    if path.startswith("//"):
        raise not_implemented(f"'{text}' of a deployment, which isn't an id in a workspace")
    found = services.store.at(path, requested)
    if found is None:
        message = f"The resource '{text}' could not be found: a deployment needs it among the {what} of its workspace."
        raise ArmError(400, "ResourceNotFound", message, target=f"properties.{what}")
    return found
