"""An online endpoint of Azure Machine Learning: deployments of models behind one address, with a traffic split.

Deployments run on machines that Azure manages, which never scale to zero, or on a cluster that the workspace has attached. The
traffic split and the mirrored deployment are declared beside them: a deployment exists before it gets requests, and is deleted
after it has none; promoting and rolling back changes two numbers, and the preview shows only those. Authentication by key is
off unless set, and deployments fetch image and model with an identity. Left out: data collection, schedules of Azure Monitor,
custom addresses.
"""

from __future__ import annotations

from typing import Any, Unpack, overload

import pulumi
from pulumi_azure_native import machinelearningservices as ml, monitor, resources

from azure_gpu.catalog import roles
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import azure_types
from azure_gpu.foundation import common
from azure_gpu.ml.endpoint import drift as endpoint_drift, inputs
from azure_gpu.ml.endpoint.args import MlEndpointArgs, MlEndpointWiring
from azure_gpu.ml.endpoint.deployments import DeploymentSpec
from azure_gpu.ml.endpoint.resolve import resolve
from azure_gpu.ml.endpoint.rules import missing_dependencies
from azure_gpu.ml.endpoint.spec import MlEndpointSpec, identity_of, quota_text
from azure_gpu.ml.endpoint.traffic import DRIFT_PATH, template
from azure_gpu.ml.workspace.existing import of_id
from azure_gpu.ml.workspace.workspace import MlWorkspace
from azure_gpu.shared import log_settings, overrides, own_state, renewal, retry_hooks, role_of_identity
from azure_gpu.shared.component import Component
from azure_gpu.shared.context import Context, as_serving, declared, known, pull_role_of
from azure_gpu.shared.look_up import AskedBy
from azure_gpu.shared.program import Described
from azure_gpu.shared.renewal import Renewal
from azure_gpu.shared.wired import Wired

__all__ = ["REPLACING", "MlEndpoint"]

# The identity can't be changed afterwards: Microsoft Learn, machine-learning/
# how-to-access-resources-from-endpoints-managed-identities. That the compute can't either is assumed.
REPLACING = ["identity", "properties.compute"]
# All other properties are changed by the template: see `ml.endpoint.traffic`.
LEFT_TO_TEMPLATE = ["identity", "properties", "tags"]
# Microsoft Learn, machine-learning/how-to-monitor-online-endpoints.
LOG_CATEGORIES = ("AmlOnlineEndpointTrafficLog", "AmlOnlineEndpointConsoleLog", "AmlOnlineEndpointEventLog")
SYSTEM_ASSIGNED = "SystemAssigned"
USER_ASSIGNED = "UserAssigned"

_Wired = Wired[MlEndpointWiring, MlEndpointSpec]


class MlEndpoint(Component[MlEndpointArgs, MlEndpointWiring, MlEndpointSpec]):
    """An endpoint. Raises `Refused` if its arguments are invalid."""

    endpoint_id: pulumi.Output[str]
    """ARM id of the endpoint."""
    endpoint_name: pulumi.Output[str]
    """Its name in Azure."""
    principal_id: pulumi.Output[str]
    """Object id of its system-assigned identity; empty if deployments use another."""
    scoring_uri: pulumi.Output[str]
    """Its address for requests, once its traffic is set."""
    auth_mode_at_creation: pulumi.Output[str]
    """Its auth mode at its creation, as Azure spells it; a change of `auth` is compared with it, and keeps the endpoint."""
    expires_at: pulumi.Output[str] | None
    """When the endpoint should be deleted, RFC 3339 in UTC."""
    hourly_cost: pulumi.Output[float] | None
    """List price in USD an hour with the maximum number of instances; 0 on a cluster, whose nodes cost. None if unknown, which
    doesn't mean free."""
    idle_cost: pulumi.Output[float] | None
    """The same with the minimum number of instances."""

    @overload
    def __init__(self, name: str, args: MlEndpointArgs | _Wired, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[MlEndpointArgs]) -> None: ...

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)

    @staticmethod
    def _wire(described: Described) -> _Wired:
        around = common.put_into(described, "workspace", MlWorkspace, "ml_workspace", of_id)
        return common.wire(described, around, described.args["ml_workspace"]["resource_group_name"])

    def _resolve(self, args: MlEndpointWiring, context: Context) -> tuple[MlEndpointSpec, list[Problem]]:
        serving = as_serving(args)
        spec, problems = resolve(self._name, serving, context, serving.get("ml_workspace"))
        return spec, [*problems, *_missing(spec, serving)]

    def _look_up(self, spec: MlEndpointSpec, asked_by: AskedBy) -> tuple[MlEndpointSpec, list[Problem]]:
        found, problems = endpoint_drift.look_up({self._name: spec}, asked_by, of_stack_file=False)
        return found[self._name], problems

    def _declare(self, spec: MlEndpointSpec) -> None:
        self._decide(spec)
        body = self._body()
        endpoint = self._endpoint(body)
        before: list[pulumi.Resource] = self._roles(endpoint)
        deployed = self._deployments(endpoint, before)
        self._traffic(endpoint, body, deployed)
        if spec.logs:
            log_settings.declare(self._name, endpoint.id, self._args.get("logs"), LOG_CATEGORIES, self._child)
        self.endpoint_id = endpoint.id
        self.endpoint_name = endpoint.name
        self.principal_id = endpoint.identity.apply(lambda found: _member(found, "principal_id"))
        self.scoring_uri = endpoint.properties.apply(lambda found: _member(found, "scoring_uri"))
        self.auth_mode_at_creation = pulumi.Output.from_input(self._at_creation)
        self._announce()

    def _decide(self, spec: MlEndpointSpec) -> None:
        """What the endpoint and its deployments have in common."""
        self._spec = spec
        self._args = as_serving(self._args)
        workspace = self._args.get("ml_workspace")
        assert workspace is not None  # otherwise it was rejected
        self._workspace = workspace
        self._location = spec.location or workspace.get("located")
        self._azure_name = declared(spec.name, self._args.get("endpoint_name"))
        self._system_assigned = identity_of(spec, stack_has_one="identity_id" in self._args) == "system"
        self._provider = workspace.get("provider")  # None: its own
        self._child = pulumi.ResourceOptions(parent=self, provider=self._provider)
        self._replaced = endpoint_drift.needs_replacement(
            spec, system_assigned=self._system_assigned, identity_name=self._args.get("identity_name", "")
        )
        created = "" if self._replaced else spec.auth_mode_at_creation
        self._at_creation = created or spec.auth_mode
        self._again = retry_hooks.hooks(self)
        self._renewed = self._renewal()

    def _body(self) -> dict[str, Any]:
        """The endpoint without its traffic, as an ARM body."""
        spec = self._spec
        public = spec.network == "public"
        body: dict[str, Any] = {
            "location": self._location,
            "tags": spec.tags,
            "identity": self._identity(),
            "properties": {
                "authMode": spec.auth_mode,
                **({} if spec.managed else {"compute": self._workspace["computes"][spec.compute]["id"]}),
                "publicNetworkAccess": "Enabled" if public else "Disabled",
                **({"description": spec.description} if spec.description else {}),
            },
        }
        return overrides.in_body(body, self._args.get("overrides"), azure_types.ML_ONLINE_ENDPOINT)

    def _identity(self) -> Any:
        if self._system_assigned:
            return {"type": SYSTEM_ASSIGNED}
        stacks = pulumi.Output.from_input(self._args.get("identity_id", ""))
        return {"type": USER_ASSIGNED, "userAssignedIdentities": stacks.apply(lambda id_: {id_: {}})}

    def _endpoint(self, body: dict[str, Any]) -> ml.OnlineEndpoint:
        spec, properties = self._spec, body.get("properties", {})  # overrides may have removed anything
        identity = (
            ml.ManagedServiceIdentityArgs(type=ml.ManagedServiceIdentityType.SYSTEM_ASSIGNED)
            if self._system_assigned
            else ml.ManagedServiceIdentityArgs(
                type=ml.ManagedServiceIdentityType.USER_ASSIGNED, user_assigned_identities=[self._args.get("identity_id", "")]
            )
        )
        return ml.OnlineEndpoint(
            f"{self._name}-endpoint",
            endpoint_name=self._renewed.through(self._azure_name),
            workspace_name=self._workspace["name"],
            resource_group_name=self._workspace["resource_group_name"],
            location=self._location,
            identity=identity,
            properties=ml.OnlineEndpointPropertiesArgs(
                auth_mode=properties.get("authMode"),
                compute=properties.get("compute"),
                public_network_access=properties.get("publicNetworkAccess"),
                description=properties.get("description"),
            ),
            tags=spec.tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                # A new one is created as declared, and not as a refresh has found the old one.
                ignore_changes=None if self._replaced else LEFT_TO_TEMPLATE,
                replacement_trigger=self._renewed.trigger,
                # Its name is fixed and unique in the region, so the old one has to be deleted before its replacement is created.
                delete_before_replace=True,
                transformations=overrides.applied(self._args.get("overrides"), self),
                provider=self._provider,
                hooks=self._again,
            ),
        )

    def _renewal(self) -> Renewal:
        """The properties that can't be changed on an existing endpoint. The stack's identity is compared by its name. The auth
        mode at creation is part of it in every state, and never changes."""
        identity = SYSTEM_ASSIGNED if self._system_assigned else self._args.get("identity_name", "")
        reason = [self._at_creation, self._spec.compute, identity]
        return renewal.declare(f"{self._name}-endpoint", reason, self, in_program=self._in_program)

    def _roles(self, endpoint: ml.OnlineEndpoint) -> list[pulumi.Resource]:
        """Roles that the endpoint's own identity requires to fetch image and model. The stack's identity has them already.

        On its workspace's resources Azure Machine Learning assigns them itself, and would reject a duplicate with 409. Source:
        MicrosoftDocs/azure-ai-docs, concept-endpoints-online-auth.md, Automatic role assignment (2026-11).
        """
        if not self._system_assigned or (self._spec.managed and not self._workspace["existing"]):
            return []
        required: list[tuple[str, str, pulumi.Input[str]]] = []
        if "registry" in self._args and not self._by_azure("pull-role", self._args["registry"]["name"]):
            required.append(("pull-role", pull_role_of(self._args["registry"]), self._args["registry"]["id"]))
        if "storage" in self._args and not self._by_azure("blob-role", known(self._args["storage"]["name"]) or ""):
            required.append(("blob-role", roles.STORAGE_BLOB_DATA_READER, self._args["storage"]["id"]))
        if not self._args.get("assign_roles", True):
            if required:
                names = " and ".join(roles.NAMES[role] for _, role, _ in required)
                text = f"an administrator has to assign the roles {names} to the identity of endpoint {self._spec.name}"
                pulumi.log.info(text, self)
            return []
        return [
            role_of_identity.assign(
                f"{self._name}-{suffix}",
                role=role,
                scope=scope,
                principal_id=endpoint.identity.apply(lambda found: _member(found, "principal_id")),
                subscription_id=self._spec.context.subscription_id,
                opts=pulumi.ResourceOptions(parent=self, deleted_with=None),
            )
            for suffix, role, scope in required
        ]

    def _by_azure(self, suffix: str, name: str) -> bool:
        """Whether Azure assigns the role on the registry or account `name` itself. One that the stack has assigned stays."""
        if not self._spec.managed or name.lower() not in self._workspace.get("uses", ()):
            return False
        state = own_state.resources(of_stack_file=self._spec.context.component is None)
        return state is not None and not own_state.named(state, azure_types.ROLE_ASSIGNMENT.token, f"{self._name}-{suffix}")

    def _deployments(self, endpoint: ml.OnlineEndpoint, before: list[pulumi.Resource]) -> list[ml.OnlineDeployment]:
        """Declares deployments one after another: while an endpoint is being changed, Azure rejects any other change with 409.
        Source: Microsoft Learn, machine-learning/how-to-troubleshoot-online-endpoints."""
        declared: list[ml.OnlineDeployment] = []
        for name, spec in sorted(self._spec.deployments.items()):
            declared.append(self._deployment(name, spec, endpoint, [*before, *declared[-1:]]))
            if spec.autoscale and spec.managed:
                self._autoscale(name, spec, declared[-1])
        return declared

    def _deployment(
        self, name: str, spec: DeploymentSpec, endpoint: ml.OnlineEndpoint, before: list[pulumi.Resource]
    ) -> ml.OnlineDeployment:
        by_router = spec.autoscale is not None and not spec.managed
        return ml.OnlineDeployment(
            f"{self._name}-deployment-{name}",
            deployment_name=name,
            endpoint_name=self._renewed.through(self._azure_name),  # not an output of the endpoint: see `replacement_trigger`
            workspace_name=self._workspace["name"],
            resource_group_name=self._workspace["resource_group_name"],
            location=self._location,
            properties=inputs.deployment(spec, self._workspace),
            sku=None if by_router else ml.SkuArgs(name=inputs.SKU, capacity=spec.instances),
            tags=spec.tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[endpoint, *before],
                deleted_with=endpoint,
                # Replaced for the same reasons as the endpoint, and after it: as users of its outputs, or by `replace_with`, they
                # would be deleted before it, which Azure rejects while they have traffic. Azure deletes them with it.
                replacement_trigger=self._renewed.trigger,
                delete_before_replace=True,
                ignore_changes=["sku"] if spec.autoscale else None,  # the rules change the number
                transformations=overrides.applied(self._args.get("deployments", {})[name].get("overrides"), self),
                provider=self._provider,
                hooks=self._again,
            ),
        )

    def _autoscale(self, name: str, spec: DeploymentSpec, deployment: ml.OnlineDeployment) -> None:
        assert spec.autoscale is not None
        setting = f"{self._spec.name}-{name}"
        monitor.AutoscaleSetting(
            f"{self._name}-autoscale-{name}",
            autoscale_setting_name=setting,
            name=setting,
            resource_group_name=self._workspace["resource_group_name"],
            location=self._location,
            target_resource_uri=deployment.id,
            enabled=True,
            profiles=[inputs.autoscale_profile(spec.autoscale, name, deployment.id)],
            tags=spec.tags,
            opts=self._child,
        )

    def _traffic(self, endpoint: ml.OnlineEndpoint, body: dict[str, Any], declared: list[ml.OnlineDeployment]) -> None:
        spec = self._spec
        drift = endpoint_drift.differences(spec.actual, body, spec.traffic, spec.mirror)
        resources.Deployment(
            f"{self._name}-traffic",
            deployment_name=f"{spec.name}-traffic",
            resource_group_name=self._workspace["resource_group_name"],
            properties=resources.DeploymentPropertiesArgs(
                mode=resources.DeploymentMode.INCREMENTAL,
                template=template(
                    name=pulumi.Output.concat(self._workspace["name"], "/", endpoint.name),
                    body=body,
                    traffic=spec.traffic,
                    mirror=spec.mirror,
                    created_at=endpoint.system_data.apply(lambda found: _member(found, "created_at")),
                    drift=drift,
                ),
            ),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=declared,
                # Earlier drift must not make it run again.
                ignore_changes=None if drift else [DRIFT_PATH],
                # Its name is fixed, for `pulumi up --replace`.
                delete_before_replace=True,
                provider=self._provider,
                hooks=self._again,
            ),
        )

    def _announce(self) -> None:
        """Shows the idle cost, only in a preview, since an update shows its preview first."""
        if not pulumi.runtime.is_dry_run() or not self._spec.managed or self._spec.stopped_since:
            return
        idle = self._spec.idle.text(self._spec.context.day)
        pulumi.log.info(f"cost while idle: {idle}; machines that Azure manages never scale to zero", self)
        for name, spec in self._spec.deployments.items():
            quota = quota_text(spec)
            if quota:
                pulumi.log.info(f"{name} needs {quota}", self)


def _missing(spec: MlEndpointSpec, args: MlEndpointWiring) -> list[Problem]:
    """Problems of a missing workspace or foundation."""
    found = [] if "ml_workspace" in args else [refused("endpoint.no_workspace", spec.path)]
    return [*found, *missing_dependencies(spec, identity="identity_id" in args)]


def _member(found: Any, name: str) -> str:
    """A member of Azure's response, which the SDK returns as an object; empty if missing."""
    return (getattr(found, name, "") if found else "") or ""
