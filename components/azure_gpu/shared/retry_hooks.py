"""Error hooks that retry resources which Azure rejects only temporarily, such as before a new role is in effect.

They wait only after such an error. Any other error fails at once, as without the hook.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable

import pulumi

from azure_gpu.catalog import error_fixes
from azure_gpu.catalog.roles import DELAY_MINUTES
from azure_gpu.catalog.transient_errors import ALREADY_THERE, APPEARED, TransientError, find, is_missing_permission, pause
from azure_gpu.shared.hooks import called, kind

# A create that Azure accepted and that failed later, as the engine words it (hashicorp/go-multierror, in `plugin.InitError` of
# pulumi 3.259). The engine keeps the resource, and the next `up` updates it. Another create would be refused, as the resource is
# there (pulumi/pulumi-azure-native issue 1123), and the engine would then forget it (pkg/resource/deploy/step.go).
_ACCEPTED = re.compile(r"\d+ errors? occurred:")
_NEW_ROLES = TransientError((), "its role assignments are new and not in effect yet", DELAY_MINUTES)

Otherwise = Callable[[pulumi.ErrorHookArgs], Awaitable[None]]


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


def hooks(
    component: pulumi.Resource,
    roles: NewRoles | None = None,
    otherwise: Otherwise | None = None,
) -> pulumi.ResourceHookBinding | None:
    """Returns the hooks for resources of `component`; call it once per component, as a hook's name is unique. `roles`: those that
    its resources require. `otherwise`: called with the first error that doesn't pass by itself."""
    if not called():
        return None

    async def again(args: pulumi.ErrorHookArgs) -> bool:
        tried = len(args.errors)
        passing = _passing(args, roles)
        if passing is None:
            if tried == 1:
                await _tell(args, component, otherwise)
            elif args.failed_operation == "create" and ALREADY_THERE in args.errors[0]:  # it wasn't before the first attempt
                pulumi.log.warn(f"{args.name}: {APPEARED}; `operations up` takes it in, or `pulumi import`", component)
            return False
        if was_accepted(args):
            pulumi.log.warn(f"{args.name}: {passing.why}; it exists: run `pulumi up` again, which updates it", component)
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


def _passing(args: pulumi.ErrorHookArgs, roles: NewRoles | None) -> TransientError | None:
    """Why the newest error passes by itself; None for any other."""
    newest = args.errors[0] if args.errors else ""
    found = find(newest)
    if found is None and roles is not None and roles.assigned and is_missing_permission(newest):
        return _NEW_ROLES
    return found


async def _tell(args: pulumi.ErrorHookArgs, component: pulumi.Resource, otherwise: Otherwise | None) -> None:
    """What to do about an error that stays."""
    if fix := error_fixes.fix(args.errors[0]):
        pulumi.log.warn(f"{args.name}: {fix}", component)
    if otherwise is not None:
        await otherwise(args)


def was_accepted(args: pulumi.ErrorHookArgs) -> bool:
    """Whether Azure accepted a create that failed later."""
    return args.failed_operation == "create" and bool(args.errors) and _ACCEPTED.match(args.errors[0]) is not None
