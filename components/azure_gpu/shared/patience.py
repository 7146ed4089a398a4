"""What Azure refuses for a while and then takes: a hook by which the engine tries such a resource again.

Waiting is paid only where Azure refuses, and only once: what is there isn't created again. Everything else that Azure refuses
fails at once, as it does without the hook.
"""

import asyncio

import pulumi

from azure_gpu.catalog import refusals
from azure_gpu.catalog.passing_refusals import Passing, find, pause
from azure_gpu.catalog.roles import DELAY_MINUTES
from azure_gpu.shared.hooks import called, kind

# What a refusal says where somebody lacks a right. That services say one of these of an identity whose role is new is assumed, so
# that it is asked only of a component whose roles were assigned in the same run.
_NO_RIGHT = ("authorization", "forbidden", "permission", "unauthorized", "access denied")
_NEW_ROLES = Passing((), "its roles are new, and don't work yet", DELAY_MINUTES)


class NewRoles:
    """Whether a run has assigned roles for `component`: before they work, what needs them is refused for want of a right."""

    def __init__(self, component: pulumi.Resource) -> None:
        self.assigned = False
        self.hooks: pulumi.ResourceHookBinding | None = None
        """For the assignments."""
        if called():
            name = f"{kind(component)}-{component.pulumi_resource_name}-assigned"
            self.hooks = pulumi.ResourceHookBinding(after_create=[pulumi.ResourceHook(name, self._note)])

    def _note(self, _: pulumi.ResourceHookArgs) -> None:
        self.assigned = True


def hooks(component: pulumi.Resource, roles: NewRoles | None = None) -> pulumi.ResourceHookBinding | None:
    """For resources of `component`, which calls this once: its hook has a name. `roles`: those that its resources need."""
    if not called():
        return None

    async def again(args: pulumi.ErrorHookArgs) -> bool:
        tried = len(args.errors)
        passing = find(args.errors[0]) if tried else None
        if tried and passing is None and roles is not None and roles.assigned and wants_a_right(args.errors[0]):
            passing = _NEW_ROLES
        if tried == 1 and passing is None and (fix := refusals.fix(args.errors[0])):
            pulumi.log.warn(f"{args.name}: {fix}", component)
        if passing is None:
            return False
        if passing.is_over(tried):
            text = f"{args.name}: {passing.why}, after {passing.most_minutes} minutes; the next up goes on"
            pulumi.log.warn(text, component)
            return False
        if tried == 1:
            pulumi.log.info(f"{args.name}: {passing.told}", component)
        await asyncio.sleep(pause(tried))
        return True

    return pulumi.ResourceHookBinding(
        on_error=[pulumi.ErrorHook(f"{kind(component)}-{component.pulumi_resource_name}-again", again)]
    )


def wants_a_right(error: str) -> bool:
    """Whether somebody lacks a right, by what the error says. A policy that denies names its assignment, whose type holds one of
    the words, and no role changes that."""
    text = error.lower().replace("microsoft.authorization", "")
    return any(part in text for part in _NO_RIGHT)
