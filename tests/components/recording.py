"""A strict recording mock of the engine: runs declarations and keeps what was registered.

It keeps every registration with its inputs by wire name and its options, every look-up with its provider, and every role
assignment by names. A look-up that isn't prepared raises. What this can't show: Check, Diff and therefore replacements, and the
order in which things are created.
"""

import base64
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from unittest import mock

import pulumi
from google.protobuf.json_format import MessageToDict
from pulumi.runtime import get_root_resource, rpc, settings
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks, set_mocks
from pulumi.runtime.stack import Stack

from azure_gpu.catalog.roles import NAMES
from azure_gpu_operations.graph import for_an_engine
from tests.support.event_loop import new_event_loop

PROJECT = "azure-gpu"
STACK = "test"
SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
ROLE_ASSIGNMENT = "azure-native:authorization:RoleAssignment"
SECRET_SIGNATURE = "4dabf18193072939515e22adb298388d"  # how the engine marks a special value on the wire
# What Azure sets, by type, from a resource's name in the program and its inputs: enough for the components to be wired with. No
# two resources get the same id of anything, so that an id taken from the wrong resource shows.
COMPUTED: dict[str, Callable[[str, dict[str, Any]], dict[str, Any]]] = {
    "azure-native:resources:ResourceGroup": lambda name, inputs: {"name": inputs.get("resourceGroupName", name)},
    "azure-native:managedidentity:UserAssignedIdentity": lambda name, _: {
        "principalId": f"principal-of-{name}",
        "clientId": f"client-of-{name}",
        "tenantId": "tenant-of-identity",
    },
    "azure-native:containerregistry:Registry": lambda _, inputs: {
        "name": inputs["registryName"],
        "loginServer": f"{inputs['registryName']}.azurecr.io",
        "creationDate": "2026-11-21T08:00:00Z",
    },
    "azure-native:operationalinsights:Workspace": lambda _, inputs: {"name": inputs["workspaceName"]},
    "azure-native:batch:BatchAccount": lambda _, inputs: {"name": inputs["accountName"]},
    "azure-native:batch:Pool": lambda _, inputs: {"name": inputs["poolName"]},
    "azure-native:consumption:Budget": lambda _, inputs: {"name": inputs["budgetName"]},
    "azure-native:app:Job": lambda _, inputs: {"name": inputs["jobName"]},
    "azure-native:containerinstance:ContainerGroup": lambda _, inputs: {"name": inputs["containerGroupName"]},
    "azure-native:compute:VirtualMachine": lambda _, inputs: {"name": inputs["vmName"]},
    "azure-native:network:PrivateEndpoint": lambda _, inputs: {"name": inputs["privateEndpointName"]},
    "azure-native:compute:Gallery": lambda _, inputs: {"name": inputs["galleryName"]},
    "azure-native:compute:GalleryImage": lambda _, inputs: {"name": inputs["galleryImageName"]},
    "azure-native:containerservice:ManagedCluster": lambda _, inputs: {"name": inputs["resourceName"]},
    "azure-native:containerservice:AgentPool": lambda _, inputs: {"name": inputs["agentPoolName"]},
    "azure-native:machinelearningservices:Workspace": lambda _, inputs: {
        "name": inputs.get("workspaceName", "named-by-the-provider")
    },
    "azure-native:machinelearningservices:OnlineEndpoint": lambda _, inputs: {
        "name": inputs["endpointName"],
        "properties": {**inputs["properties"], "scoringUri": f"https://{inputs['endpointName']}.example/score"},
        "systemData": {"createdAt": "2026-11-20T00:00:00Z"},
    },
}
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: theirs, cluster: {server: "https://theirs.hcp.westeurope.azmk8s.io:443", certificate-authority-data: Y2E=}}]
users: [{name: clusterUser, user: {auth-provider: {name: azure}}}]
contexts: [{name: theirs, context: {cluster: theirs, user: clusterUser}}]
current-context: theirs
"""
DEPLOYER = "99999999-8888-7777-6666-555555555555"
KEYS: dict[str, Any] = {
    "azure-native:authorization:getClientConfig": {"objectId": DEPLOYER, "clientId": "", "subscriptionId": "", "tenantId": ""},
    "azure-native:containerservice:getManagedCluster": lambda args: {
        "oidcIssuerProfile": {"enabled": True, "issuerURL": f"https://issuer.example/{args['resourceName']}/"},
        "identityProfile": {"kubeletidentity": {"objectId": f"kubelet-of-{args['resourceName']}"}},
    },
    "azure-native:network:getVirtualNetwork": {
        "addressSpace": {"addressPrefixes": ["10.2.0.0/16"]},
        "subnets": [
            {"name": "nodes", "addressPrefix": "10.2.0.0/20"},
            {"name": "d", "addressPrefix": "10.2.16.0/20"},
            {"name": "endpoints", "addressPrefix": "10.2.32.0/24"},
            {"name": "jobs", "addressPrefix": "10.2.33.0/27", "delegations": [{"serviceName": "Microsoft.App/environments"}]},
            {"name": "pools", "addressPrefix": "10.2.34.0/24"},
            {"name": "clusters", "addressPrefix": "10.2.48.0/20"},
        ],
    },
    "azure-native:containerservice:listManagedClusterUserCredentials": {
        "kubeconfigs": [{"name": "clusterUser", "value": base64.b64encode(KUBECONFIG.encode()).decode()}]
    },
}
# What fails where nothing is prepared: look-ups whose failure decides nothing.
REFUSED = {
    "azure-native:authorization:getClientToken": "not logged in",
    "pulumi:pulumi:readStackOutputs": "there is no backend",
    # About what the program creates itself: before it did, nothing is there.
    "azure-native:app:getManagedEnvironment": "Status=404 Code=ResourceNotFound Message=The Resource was not found.",
}


@dataclass(frozen=True, kw_only=True)
class Registration:
    """One resource that the program registered."""

    urn: str
    type: str
    name: str
    inputs: dict[str, Any]  # plain: secrets are unwrapped
    wire: dict[str, Any]  # as sent: secrets are marked
    replace_on_changes: list[str]
    replacement_trigger: Any  # None where there is none
    delete_before_replace: bool
    deleted_with: str  # URN; empty where there is none
    replace_with: list[str]  # URNs
    ignore_changes: list[str]
    after_create: list[str]  # names of hooks
    before_update: list[str]  # names of hooks
    on_error: list[str]  # names of hooks
    provider: str  # reference; empty where it is the default
    dependencies: list[str]
    parent: str  # URN
    protect: bool
    retain_on_delete: bool
    aliases: list[dict[str, Any]]
    additional_secret_outputs: list[str]
    import_id: str  # ARM id of what is adopted; empty where it is created
    custom_timeouts: dict[str, str]  # by operation; empty where they are the provider's


class Role(NamedTuple):
    """One role assignment, by names of the program."""

    who: str  # the resource whose identity it is; `kubelet of` a cluster; `deployer`; an object id that the program was given
    role: str  # as Azure calls it
    scope: str  # the resource that it is on, or the ARM id of what exists
    parent: str  # the component that it belongs to, `<type>::<name>`


@dataclass
class Recorded:
    """What a run registered, in order, and what it looked up and logged."""

    registrations: list[Registration] = field(default_factory=list)
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)  # what components registered, by URN
    exports: dict[str, Any] = field(default_factory=dict)  # what the program exported
    lookups: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    lookup_providers: list[str] = field(default_factory=list)  # of each lookup; empty where it is the default
    hooks: dict[str, pulumi.ResourceHook] = field(default_factory=dict)  # by name; nothing calls them
    error_hooks: dict[str, pulumi.ErrorHook] = field(default_factory=dict)  # likewise
    log: list[str] = field(default_factory=list)

    def of_type(self, token: str) -> list[Registration]:
        return [registration for registration in self.registrations if registration.type == token]

    def one(self, token: str) -> Registration:
        [registration] = self.of_type(token)
        return registration

    def named(self, name: str) -> Registration:
        [registration] = [each for each in self.registrations if each.name == name]
        return registration

    @property
    def roles(self) -> list[Role]:
        """Who may do what on what, sorted."""
        return sorted(self._role(each.inputs, each.parent) for each in self.of_type(ROLE_ASSIGNMENT))

    def _role(self, inputs: dict[str, Any], parent: str) -> Role:
        who = inputs["principalId"].removeprefix("principal-of-").replace(DEPLOYER, "deployer")
        return Role(
            who=who.replace("kubelet-of-", "kubelet of "),
            role=NAMES[inputs["roleDefinitionId"].rsplit("/", 1)[-1]],
            scope=inputs["scope"].removeprefix("/id-of/"),
            parent=parent.rpartition("azuregpu:index:")[2],
        )


class _Answers(Mocks):
    def __init__(self, recorded: Recorded, lookups: Mapping[str, Any], preview: bool) -> None:
        self._recorded = recorded
        self._lookups = lookups
        self._preview = preview

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        outputs = dict(args.inputs)
        if "identity" in outputs:  # a list of ids going in, a map by id coming out
            ids = outputs["identity"].get("userAssignedIdentities", [])
            outputs["identity"] = {
                "type": "UserAssigned",
                "userAssignedIdentities": {id_: {} for id_ in ids if id_ and isinstance(id_, str)}
                if isinstance(ids, list)
                else {},
            }
            if "SystemAssigned" in args.inputs["identity"].get("type", "") and not self._preview:
                outputs["identity"]["principalId"] = f"principal-of-{args.name}"
        if self._preview or not args.custom:
            return None, outputs
        computed = COMPUTED[args.typ](args.name, args.inputs) if args.typ in COMPUTED else {}
        return f"/id-of/{args.name}", {**outputs, **computed}

    def call(self, args: MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        self._recorded.lookups.append((args.token, args.args))
        self._recorded.lookup_providers.append(args.provider or "")
        answer: dict[str, Any] | str | Callable[[Any], dict[str, Any]] | None = self._lookups.get(
            args.token, REFUSED.get(args.token)
        )
        if answer is None:
            raise LookupError(f"no lookup is prepared for {args.token}")
        if isinstance(answer, str):
            return {}, [("", answer)]
        return answer if isinstance(answer, dict) else answer(args.args), []


class _Monitor(MockMonitor):
    """The SDK's mock, which keeps neither options nor which inputs are secret."""

    def __init__(self, recorded: Recorded, mocks: Mocks) -> None:
        super().__init__(mocks)
        self._recorded = recorded

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802  the SDK's name
        if request.type != "pulumi:pulumi:Stack":
            self._recorded.registrations.append(
                Registration(
                    urn=self.make_urn(request.parent, request.type, request.name),
                    type=request.type,
                    name=request.name,
                    inputs=plain(MessageToDict(request.object)),
                    wire=MessageToDict(request.object),
                    replace_on_changes=list(request.replaceOnChanges),
                    replacement_trigger=plain(MessageToDict(request.replacement_trigger))
                    if request.HasField("replacement_trigger")
                    else None,
                    delete_before_replace=request.deleteBeforeReplace,
                    deleted_with=request.deletedWith,
                    replace_with=list(request.replace_with),
                    ignore_changes=list(request.ignoreChanges),
                    after_create=list(request.hooks.after_create),
                    before_update=list(request.hooks.before_update),
                    on_error=list(request.hooks.on_error),
                    provider=request.provider,
                    dependencies=list(request.dependencies),
                    parent=request.parent,
                    protect=request.protect,
                    retain_on_delete=request.retainOnDelete,
                    aliases=[MessageToDict(alias) for alias in request.aliases],
                    additional_secret_outputs=list(request.additionalSecretOutputs),
                    import_id=request.importId,
                    custom_timeouts=MessageToDict(request.customTimeouts),
                )
            )
        return super().RegisterResource(request)

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802  the SDK's name
        if "::pulumi:pulumi:Stack::" not in request.urn:  # its outputs are the exports; the SDK sends none, sooner or too late
            self._recorded.outputs[request.urn] = plain(MessageToDict(request.outputs))
        return super().RegisterResourceOutputs(request)


class _Callbacks:
    """Keeps the hooks that the engine would call."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded

    def register_resource_hook(self, hook: pulumi.ResourceHook) -> None:
        self._recorded.hooks[hook.name] = hook

    def register_error_hook(self, hook: pulumi.ErrorHook) -> None:
        self._recorded.error_hooks[hook.name] = hook

    async def shutdown(self) -> None:
        pass


class _Log(logging.Handler):
    def __init__(self, recorded: Recorded) -> None:
        super().__init__(logging.INFO)
        self._recorded = recorded

    def emit(self, record: logging.LogRecord) -> None:
        self._recorded.log.append(record.getMessage())


def plain(value: Any) -> Any:
    """A value from the wire with its secrets unwrapped."""
    if isinstance(value, dict):
        return plain(value["value"]) if SECRET_SIGNATURE in value else {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def readable(value: Any) -> str:
    """Everything in a value from the wire that the engine would keep in plain text."""
    if isinstance(value, dict):
        return "" if SECRET_SIGNATURE in value else " ".join(f"{key} {readable(inner)}" for key, inner in value.items())
    return " ".join(readable(inner) for inner in value) if isinstance(value, list) else str(value)


def _nothing(*_: object, **__: object) -> None:
    pass


def declare(build: Callable[[], object], *, preview: bool = False, lookups: Mapping[str, Any] = KEYS) -> Recorded:
    """Runs `build` as a program. `lookups` holds the answer of each function by token, or what gives it for the arguments of the
    call; a text is why it fails."""
    new_event_loop()
    settings.ROOT.set(None)  # each program has a stack of its own
    recorded = Recorded()
    logger = logging.Logger("recorded")  # one of its own, known to no other test
    logger.addHandler(_Log(recorded))
    mocks = _Answers(recorded, lookups, preview)
    set_mocks(mocks, project=PROJECT, stack=STACK, preview=preview, logger=logger, monitor=_Monitor(recorded, mocks))
    # In place of a server that the engine would call.
    settings.SETTINGS.callbacks = _Callbacks(recorded)

    def program() -> pulumi.Output[None]:
        root = get_root_resource()
        assert isinstance(root, Stack)
        root.outputs = {}
        build()
        return pulumi.Output.from_input(root.outputs).apply(recorded.exports.update)

    # The SDK tells of each resource what it does; nobody reads it.
    with for_an_engine.left_out(), mock.patch.object(pulumi.log, "debug", new=_nothing):
        pulumi.runtime.test(program)()
    return recorded


UNKNOWN = rpc.UNKNOWN  # what stands on the wire for a value that only creating will tell
