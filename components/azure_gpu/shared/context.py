"""Arguments that all components of a stack share: subscription, team, region, date of evaluation and tags.

The program passes `StackArgs` to every component, which resolves them to a `Context`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict, TypeVar, cast

import pulumi

from azure_gpu.catalog import defaults_day, regions, roles, tags
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import tags as keys
from azure_gpu.formats.dates import resolve_day
from azure_gpu.shared import wording
from azure_gpu.shared.naming import physical_name
from azure_gpu.shared.validation import Choice
from azure_gpu.shared.workloads import Workload

Tags = Mapping[str, pulumi.Input[str]]
"""Tags of a resource by key."""
WorkloadChoice = Annotated[Workload, Choice("Workload", "A folder of `workloads/` with a Dockerfile.")]
_WRITTEN_KEYS = (keys.AS_OF, keys.EXPIRES_AT, keys.PROJECT, keys.STACK, keys.TEAM)
_OWN_KEYS = (*_WRITTEN_KEYS, keys.STOPPED_SINCE)


class StackArgs(TypedDict):
    """Arguments that all components of a stack share. All of it is plain."""

    subscription_id: str
    """The Azure subscription that everything is created in. It is part of the names that are unique in all of Azure."""
    team: str
    """The owner of the stack; part of every name, and the tag `team`. Empty only for a component of a program: not set."""
    location: str
    """Azure region of everything without its own: `westeurope` or `West Europe`. Empty only for a component of a program: the
    resource group's, which isn't known yet."""
    tags: NotRequired[Tags]
    """Tags on everything that takes tags, beside the program's own. Default: none."""
    as_of: NotRequired[str]
    """The date at which services, sizes and dates are evaluated, YYYY-MM-DD, and the tag `as-of`. Default: `today`, and no
    tag."""
    today: str
    """The date on which the program runs, YYYY-MM-DD."""
    protect_data: NotRequired[bool]
    """Whether what holds data is protected from deletion and replacement, and deleted blobs are kept for 7 days. Default:
    true."""
    lock_data: NotRequired[bool]
    """Whether what holds data also gets a lock in Azure. Default: false."""
    component: NotRequired["ComponentOfProgram"]
    """The component of a program. Default: the component is from a stack file."""


class ComponentOfProgram(NamedTuple):
    """A component that a program declares itself, without a stack file."""

    kind: str  # such as BatchPool
    name: str  # its logical name
    formerly: tuple[str, ...] = ()  # the logical names that it had before, by its aliases
    in_state: frozenset[str] = frozenset()  # names in Azure of the stack's resources, in lower case; read where it has aliases

    def __str__(self) -> str:
        """The path of its problems."""
        return f'{self.kind}("{self.name}")'


class RegistryArgs(TypedDict):
    """A container registry that the stack's identity may pull from."""

    name: str
    """Plain: the registry's name, by which an image's host is recognized."""
    id: pulumi.Input[str]
    """Wired: its ARM id."""
    server: pulumi.Input[str]
    """Wired: its login server, `name.azurecr.io`."""
    subscription_id: NotRequired[str]
    """Plain: its subscription, where that is another. Default: the component's own."""
    pull_role: NotRequired[str]
    """Plain: the GUID of the role that allows pulling from it. Default: AcrPull."""
    existing_id: NotRequired[str]
    """Plain: its ARM id, where it isn't the stack's own: others may have assigned roles on it."""
    workload_images: dict[str, pulumi.Input[str]]
    """Wired: the images of the workloads that the stack builds, by the workload's name."""


class LinkScope(TypedDict):
    """A private link scope of Azure Monitor, in which a private network reaches log workspace and Application Insights."""

    id: pulumi.Input[str]
    """Wired: its ARM id."""
    name: pulumi.Input[str]
    """Wired: its name in Azure."""
    resource_group_name: pulumi.Input[str]
    """Wired: its resource group."""
    known_id: str
    """Plain: its ARM id, known before it exists, for commands."""
    subscription_id: NotRequired[str]
    """Plain: its subscription, where it isn't the stack's own. Default: the component's own."""


class LogsArgs(TypedDict):
    """A Log Analytics workspace that containers send their logs to."""

    workspace_arm_id: pulumi.Input[str]
    """Wired: its ARM id. Services send logs without a key of the workspace."""
    settings_by_policy: NotRequired[bool]
    """Plain: true if a policy creates the diagnostic settings, so that no component does. Default: false."""
    private_link_scope: NotRequired[LinkScope]
    """The scope by which alone it is reached. Default: none; it has public addresses."""


class StorageArgs(TypedDict):
    """A storage account for data."""

    name: pulumi.Input[str]
    """Its name. Known to a stack's plan; where the account is given by an output, nothing is checked against it."""
    id: pulumi.Input[str]
    """Wired: its ARM id."""
    is_own: NotRequired[bool]
    """Plain: true where the stack creates the account, and so may create containers in it. Default: false."""
    resource_group_name: NotRequired[pulumi.Input[str]]
    """Wired: its resource group, where the stack creates the account. Default: not known."""


class ServingArgs(TypedDict):
    """The identity of endpoints and of services on clusters, separate from the stack's identity for training."""

    id: pulumi.Input[str]
    """Wired: its ARM id, known once it has its roles."""
    name: str
    """Plain: identifies it, like `identity_name`."""
    client_id: pulumi.Input[str]
    """Wired: its client id, by which programs that run as it name it."""
    principal_id: pulumi.Input[str]
    """Wired: its object id, which roles are assigned to."""
    is_own: bool
    """Plain: true where the stack creates it, and so may let pods run as it."""


class CustomerKey(TypedDict):
    """A key of a vault that encrypts data."""

    id: str
    """Plain: its ARM id."""
    vault_id: str
    """Plain: the ARM id of its vault."""
    location: str
    """Plain: the vault's region."""
    identity_id: pulumi.Input[str]
    """Wired: ARM id of the identity that services read it as."""
    uri: pulumi.Input[str]
    """Wired: its address without a version, known once the identity has the role on it."""
    uri_with_version: pulumi.Input[str]
    """Wired: the same, with its newest version."""


class PrivateNetwork(TypedDict):
    """The private network of a stack."""

    subnets: Mapping[str, pulumi.Input[str]]
    """Wired: ARM ids of its subnets by name."""
    zones: Mapping[str, pulumi.Input[str]]
    """Wired: ARM ids of private DNS zones by name; those that no policy knows where one registers names."""
    by_policy: bool
    """Plain: whether a policy registers the names of endpoints."""
    outbound: str
    """Plain: how its subnets reach the internet: nat, firewall or none."""


class Dependencies(TypedDict):
    """Resources of a foundation that other components depend on."""

    resource_group_name: pulumi.Input[str]
    """Wired: the resource group that everything goes into."""
    resource_group: NotRequired[str]
    """Plain: its name, for commands that are printed before it exists. Default: a placeholder."""
    identity_id: NotRequired[pulumi.Input[str]]
    """Wired: ARM id of a user-assigned identity. Default: none."""
    identity_name: NotRequired[str]
    """Plain: identifies that identity: its group and its name, or its whole id where the stack didn't create it. Default:
    none."""
    identity_client_id: NotRequired[pulumi.Input[str]]
    """Wired: its client id, by which programs that run as it name it. Default: none."""
    identity_principal_id: NotRequired[pulumi.Input[str]]
    """Wired: its object id, which roles are assigned to. Default: none."""
    identity_is_own: NotRequired[bool]
    """Plain: true where the stack creates the identity, and so may let pods run as it. Default: false."""
    serving: NotRequired[ServingArgs]
    """The identity for serving. Default: none, and the identity above is used."""
    assign_roles: NotRequired[bool]
    """Plain: false leaves role assignments to an administrator and prints the commands. Default: true."""
    registry: NotRequired[RegistryArgs]
    """The registry to pull from as that identity. Default: none."""
    storage: NotRequired[StorageArgs]
    """The storage account for data. Default: none."""
    private_network: NotRequired[PrivateNetwork]
    """The network that everything is private in. Default: none."""
    customer_managed_key: NotRequired[CustomerKey]
    """The key that encrypts data. Default: none, and keys of Azure do."""
    logs: NotRequired[LogsArgs]
    """Where logs go. Default: they stay with the service that runs the container."""


def pull_role_of(registry: RegistryArgs) -> str:
    """Returns the GUID of the role that allows pulling from a registry."""
    return registry.get("pull_role", roles.ACR_PULL)


def dependencies_of(args: Mapping[str, Any]) -> Dependencies:
    """Selects the dependencies from the arguments of a component."""
    return cast(Dependencies, {key: args[key] for key in Dependencies.__annotations__ if key in args})


_Args = TypeVar("_Args", bound=Dependencies)


def as_serving(args: _Args) -> _Args:
    """Puts the serving identity, where there is one, in the place of the identity."""
    if "serving" not in args:
        return args
    identity = {f"identity_{key}": value for key, value in args["serving"].items()}
    return cast(_Args, {**args, **identity})


class OfStack(Dependencies):
    """Dependencies of a component, with the stack that it belongs to."""

    stack: StackArgs
    """Subscription, owner, region and date of evaluation of the stack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """`StackArgs` resolved, with the project and the stack."""

    project: str
    stack: str
    subscription_id: str
    team: str
    location: str  # as ARM spells it; empty where it isn't known yet
    user_tags: Tags
    as_of: date | None  # None where the settings don't give one
    today: date
    protect_data: bool = True
    lock_data: bool = False
    component: ComponentOfProgram | None = None  # None: a stack file describes it

    @property
    def protect(self) -> bool | None:
        """The option `protect` of resources that hold data. None leaves it to the options of the component."""
        return True if self.protect_data else None

    @property
    def day(self) -> date:
        """The date at which everything is evaluated."""
        return self.as_of or self.today

    def chosen_at(self, as_of: date | None = None) -> date:
        """The date at which defaults are chosen. `as_of`: that of one part, in place of the stack's."""
        return defaults_day.chosen_at(as_of or self.as_of, self.today)

    def region(self, given: pulumi.Input[str] | None) -> str:
        """The region of a part with an optional `location`, as ARM spells it; empty where it isn't known yet."""
        return regions.normalise(known(given) or "") if given is not None else self.location

    def path(self, section: str, name: str = "") -> str:
        """The path of a component: `pools.train` in a stack file, `BatchPool("train")` in a program."""
        if self.component is not None:
            return str(self.component)
        return f"{section}.{name}" if name else section

    def own_path(self, key: str) -> str:
        """The path of a key that a stack file has once for all components, such as `location`."""
        return _own_path(self.component, key)

    def part_path(self, part: str) -> str:
        """The path of a part of the foundation, such as `storage`."""
        return f"{self.component}.{wording.PART_IDS[part]}" if self.component is not None else f"foundation.{part}"

    def missing_part(self, part: str, message: str) -> Problem:
        """A problem for a component without a part of the foundation that it requires."""
        path = self.part_path(part)
        allowed = "create, or existing: <id>" if self.component is None else f"an ARM id, or a foundation with {part}"
        return Problem(path=path, message=message, allowed=allowed, fix=wording.give_part(path, part))

    def name(self, arm_type: str, what: str) -> str:
        """Physical name of the stack's resource of this type; `what` distinguishes it from others of its type. In a program, the
        component's logical name is part of it: the one of its creation, where an alias names that."""
        if self.component is None:
            return self._name(arm_type, what, "")
        own = self.component.name
        name = self._name(arm_type, what, own)
        former = (self._name(arm_type, what.replace(own, each, 1), each) for each in self.component.formerly)
        names = [name, *former]
        return next((each for each in names if each.lower() in self.component.in_state), name)

    def _name(self, arm_type: str, what: str, own: str) -> str:
        inside = what == own or what.startswith(f"{own}-") or what.endswith(f"-{own}")
        of_stack = [self.project, self.team, self.stack] if self.team or self.component is None else [self.project, self.stack]
        words = [*of_stack, *(word for word in ("" if inside else own, what) if word)]
        return physical_name(arm_type, words, subscription_id=self.subscription_id)

    def tags(self, as_of: date | None = None, **more: str) -> Tags:
        """Tags of one resource: the user's and the program's. `as_of`: the resource's own, in place of the stack's."""
        given = as_of or self.as_of
        own = {keys.PROJECT: self.project, keys.STACK: self.stack, **({keys.TEAM: self.team} if self.team else {})}
        return {**self.user_tags, **own, **({keys.AS_OF: given.isoformat()} if given else {}), **more}


def resolve_stack(args: StackArgs, project: str, stack: str) -> tuple[Context, list[Problem]]:
    """Resolves the context of a stack, with its problems. For an invalid value, the context holds a stand-in."""
    problems: list[Problem] = []
    component = args.get("component")
    if not args["subscription_id"] and component is None:
        problems.append(refused("stack.no_subscription", "azure-native:subscriptionId"))
    elif not args["subscription_id"]:
        problems.append(refused("stack.not_logged_in", str(component)))
    if not any(character.isalnum() for character in args["team"]) and (args["team"] or component is None):
        fix = None if component is None else "set another, or remove it"
        problems.append(refused("stack.team_without_letter", _own_path(component, "team"), args["team"], fix=fix))
    if component is None:
        problems += regions.check(args["location"], "location")
    user_tags = args.get("tags", {})
    problems += check_tags(user_tags, _own_path(component, "tags"))
    as_of, as_of_problems = resolve_day(args.get("as_of"), _own_path(component, "as_of"))
    today, today_problems = resolve_day(args["today"], "today")
    context = Context(
        project=project,
        stack=stack,
        subscription_id=args["subscription_id"],
        team=args["team"],
        location=regions.normalise(args["location"]),
        user_tags=user_tags,
        as_of=as_of,
        today=today or date.min,
        protect_data=args.get("protect_data", True),
        lock_data=args.get("lock_data", False),
        component=component,
    )
    if context.lock_data and not context.protect_data:
        problems.append(refused("stack.lock_without_protection", context.own_path("lock_data"), True))
    return context, [*problems, *as_of_problems, *today_problems]


def _own_path(component: ComponentOfProgram | None, key: str) -> str:
    return key if component is None else f"{component}.{key}"


def check_tags(user_tags: Tags, path: str) -> list[Problem]:
    """Checks a user's tags: Azure's limits, and the keys that the program sets."""
    taken: Sequence[Problem] = [
        refused("tags.of_the_program", f"{path}.{key}", known(user_tags[key]), keys=", ".join(_OWN_KEYS))
        for key in user_tags
        if key.lower() in _OWN_KEYS  # Azure's tag keys are case-insensitive
    ]
    shown = {key: known(value) or "" for key, value in user_tags.items()}
    return [*taken, *tags.check(shown, path, most=tags.MOST_TAGS - len(_WRITTEN_KEYS))]


def declared(decided: str, given: pulumi.Input[str] | None) -> pulumi.Input[str] | None:
    """Returns the output that was given, else the resolved value; None where that isn't known: the provider then uses the
    resource group's location."""
    return given if given is not None and known(given) is None else decided or None


def after(value: pulumi.Input[str], declared: Iterable[pulumi.Resource]) -> pulumi.Output[str]:
    """Returns the value, known once these resources are there, so that what has it waits for them."""
    return pulumi.Output.all(value, *(each.urn for each in declared)).apply(lambda values: str(values[0]))


def check_region(given: pulumi.Input[str] | None, path: str) -> list[Problem]:
    """Checks a `location`; no problem where it isn't given, or not known yet."""
    region = known(given)
    return regions.check(region, path) if region is not None else []


def known(value: pulumi.Input[str] | None) -> str | None:
    """Returns the value; None where it isn't given, or is an output."""
    return value if isinstance(value, str) else None
