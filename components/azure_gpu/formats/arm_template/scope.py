"""Where a template is deployed, and the questions that only a running deployment answers."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from azure_gpu.formats.arm_template.values import Value


class Scope(NamedTuple):
    """Where a template is deployed. None: not known; an expression that needs it is a problem that names it."""

    subscription_id: str | None = None
    tenant_id: str | None = None
    resource_group: str | None = None
    location: str | None = None  # of the resource group
    deployment: str | None = None
    tags: Mapping[str, str] | None = None  # of the resource group
    environment: Mapping[str, Any] | None = None  # what environment() answers
    of_subscription: bool = False  # deployed to the subscription itself, without a resource group

    @property
    def base_id(self) -> str | None:
        """What the ids of the resources begin with."""
        return f"/subscriptions/{self.subscription_id}" if self.of_subscription and self.subscription_id else self.group_id

    @property
    def group_id(self) -> str | None:
        if self.subscription_id is None or self.resource_group is None:
            return None
        return f"/subscriptions/{self.subscription_id}/resourceGroups/{self.resource_group}"


ScopeOf = Callable[[str], Scope]  # by the name of a resource group


class Ask(NamedTuple):
    """A call of `reference` or of a function `list…`."""

    function: str
    resource: str  # an id, or a name if the resource isn't in the template
    version: str  # "" where none is given and the resource isn't of this template
    full: bool = False
    body: Value = None


Runtime = Callable[[Ask], Value]  # answers, or DEFERRED where it doesn't know yet; RefusedError
