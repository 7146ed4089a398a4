"""Error hooks that retry resources which Azure rejects only temporarily, such as before a new role is in effect.

They wait only after such an error. Any other error fails at once, as without the hook.
"""

import asyncio

import pulumi

from azure_gpu.catalog import error_fixes
from azure_gpu.catalog.roles import DELAY_MINUTES
from azure_gpu.catalog.transient_errors import TransientError, find, pause
from azure_gpu.shared.hooks import called, kind

# Parts of messages about missing permissions. That services use one of them for an identity with a new role is assumed, so they
# are considered only for a component whose roles were assigned in the same run.
_NO_RIGHT = ("authorization", "forbidden", "permission", "unauthorized", "access denied")
_NEW_ROLES = TransientError((), "its role assignments are new and not in effect yet", DELAY_MINUTES)


class NewRoles:
    """Notes whether this run has assigned roles for `component`, which aren't in effect at once. `of`: those who get them, in the
    hook's name, where a component keeps several apart.

    Its hook only notes: while a hook runs after a creation, the engine saves no state, and all other resources wait. Source:
    pulumi/pulumi issue 20310, and a stack of pulumi 3.259.0 that stood still.
    """

    def __init__(self, component: pulumi.Resource, of: str = "") -> None:
        self.assigned = False
        self.hooks: pulumi.ResourceHookBinding | None = None
        """To set on the role assignments."""
        if called():
            name = f"{kind(component)}-{component.pulumi_resource_name}{of and f'-{of}'}-assigned"
            self.hooks = pulumi.ResourceHookBinding(after_create=[pulumi.ResourceHook(name, self._note)])

    def _note(self, _: pulumi.ResourceHookArgs) -> None:
        self.assigned = True


def hooks(component: pulumi.Resource, roles: NewRoles | None = None) -> pulumi.ResourceHookBinding | None:
    """Returns the hooks for resources of `component`; call it once per component, as a hook's name is unique. `roles`: those that
    its resources require."""
    if not called():
        return None

    async def again(args: pulumi.ErrorHookArgs) -> bool:
        tried = len(args.errors)
        passing = find(args.errors[0]) if tried else None
        if tried and passing is None and roles is not None and roles.assigned and is_missing_permission(args.errors[0]):
            passing = _NEW_ROLES
        if tried == 1 and passing is None and (fix := error_fixes.fix(args.errors[0])):
            pulumi.log.warn(f"{args.name}: {fix}", component)
        if passing is None:
            return False
        if passing.is_over(tried):
            text = f"{args.name}: {passing.why}, after {passing.most_minutes} minutes; run `pulumi up` again to continue"
            pulumi.log.warn(text, component)
            return False
        if tried == 1:
            pulumi.log.info(f"{args.name}: {passing.message}", component)
        await asyncio.sleep(pause(tried))
        return True

    return pulumi.ResourceHookBinding(
        on_error=[pulumi.ErrorHook(f"{kind(component)}-{component.pulumi_resource_name}-again", again)]
    )


def is_missing_permission(error: str) -> bool:
    """Whether the error is about missing permissions. A denial by Azure Policy names its assignment, whose type contains one of
    the words, and no role changes that."""
    text = error.lower().replace("microsoft.authorization", "")
    return any(part in text for part in _NO_RIGHT)
