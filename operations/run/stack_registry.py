"""The registry of a stack, in which runs build.

In: a signed-in `Arm` and a stack's view. Out: a `Registry`; WrongRunError where it is gone.
"""

from catalog.problems import Problem
from operations.azure import Arm
from operations.run.errors import WrongRunError
from operations.run.registry_build import REGISTRY_VERSION, Registry
from operations.stack_view import StackView


def of_stack(arm: Arm, view: StackView) -> Registry:
    body = arm.get(view.registry, REGISTRY_VERSION)
    if body is None:
        fix = f"run `pulumi refresh --stack {view.name}` and `pulumi up --stack {view.name}`"
        message = "the stack's registry isn't there: somebody has deleted it"
        raise WrongRunError([Problem("--stack", message, view.registry, fix=fix)])
    return Registry(arm, view.registry, str(body["properties"]["loginServer"]))
