"""Replaces a resource for a reason that none of its properties shows, such as another number of containers.

The engine's own `replacement_trigger` fails as soon as a program has a transform that returns options: the Python SDK 3.259 then
answers the engine with a value of a wrong type (pulumi/runtime/_callbacks.py, `_transformation_resource_options`). A component of
a program keeps the reason in a `Stash` instead, which is replaced when the reason changes; the resource's name depends on the
stash, and as a name can't change, the resource is replaced with it. A stack file's components keep the trigger that is in their
state.
"""

from dataclasses import dataclass
from typing import Any

import pulumi


@dataclass(frozen=True, slots=True)
class Renewal:
    """The trigger or the stash that replaces one resource."""

    trigger: pulumi.Input[Any] | None  # its `replacement_trigger`
    stash: pulumi.Stash | None

    def through(self, name: pulumi.Input[str] | None) -> pulumi.Input[str] | None:
        """Returns the name of the resource, dependent on the stash where there is one."""
        if self.stash is None or name is None:
            return name
        return pulumi.Output.all(name, self.stash.output).apply(lambda both: str(both[0]))


NOTHING = Renewal(None, None)  # for a resource whose own properties show every reason


def declare(name: str, reason: pulumi.Input[Any], parent: pulumi.Resource, *, in_program: bool) -> Renewal:
    """Declares the renewal of the resource `name`: a changed `reason` replaces it."""
    if not in_program:
        return Renewal(reason, None)
    opts = pulumi.ResourceOptions(parent=parent, replace_on_changes=["input"], delete_before_replace=True)
    return Renewal(None, pulumi.Stash(f"{name}-renewal", input=reason, opts=opts))
