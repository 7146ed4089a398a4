"""The registry of a stack, in which runs build images. WrongRunError if it doesn't exist."""

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.run.errors import WrongRunError
from azure_gpu_operations.run.registry_build import REGISTRY_VERSION, Registry
from azure_gpu_operations.stack_view import StackView


def of_stack(arm: Arm, view: StackView) -> Registry:
    body = arm.get(view.registry, REGISTRY_VERSION)
    if body is None:
        fix = f"run `pulumi refresh --stack {view.name}` and `pulumi up --stack {view.name}`"
        message = "the stack's registry doesn't exist; it was deleted outside the stack"
        raise WrongRunError([Problem("--stack", message, view.registry, fix=fix)])
    return Registry(arm, view.registry, str(body["properties"]["loginServer"]))
