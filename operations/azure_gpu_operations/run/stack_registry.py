"""The registry of a stack, in which runs build images."""

from typing import TYPE_CHECKING

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu_operations.run.errors import WrongRunError
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack_view import StackView

if TYPE_CHECKING:  # Azure's clients load slowly
    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.run.registry_build import Registry


def missing(view: StackView, target: Target, instead: str = "name an existing image") -> list[Problem]:
    """The problem of an image that has to be built, on a stack without a registry."""
    if view.registry or target.context is None:
        return []
    fix = f"add `registry: create` to the stack's foundation, or {instead}"
    message = "the stack has no registry to build the image"
    return [Problem("--stack", message, value=view.name, fix=fix, code=Code.NOT_FOUND)]


def of_stack(arm: "Arm", view: StackView) -> "Registry":
    """WrongRunError if it doesn't exist."""
    from azure_gpu_operations.run.registry_build import REGISTRY_VERSION, Registry

    body = arm.get(view.registry, REGISTRY_VERSION)
    if body is None:
        fix = f"run `pulumi refresh --stack {view.name}` and `pulumi up --stack {view.name}`"
        message = "the stack's registry doesn't exist; it was deleted outside the stack"
        raise WrongRunError([Problem("--stack", message, view.registry, fix=fix)])
    return Registry(arm, view.registry, str(body["properties"]["loginServer"]))
