"""Who runs the program, as far as a cluster's plan could depend on it: its default administrator, and how kubelogin logs in.

Whoever ran the first `up` stays the administrator; other users get a warning. The kubeconfig depends only on the stack file, and
kubelogin lets its environment override that; if the provider logs in by the environment, the kubeconfig needs the same setting.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pulumi
from pulumi_azure_native import authorization

from azure_gpu.aks.existing import ClusterFacts
from azure_gpu.aks.login import KUBELOGIN_PAGE
from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.catalog import roles
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sources import observed
from azure_gpu.formats import azure_types
from azure_gpu.shared import assigned_already, own_state, prerequisites
from azure_gpu.shared.look_up import OF_STACK, AskedBy, answered
from azure_gpu.shared.provider_keys import PROVIDER, PROVIDER_VARIABLES

_PROGRAM = "kubelogin"
METHOD = "AAD_LOGIN_METHOD"
SOURCE = observed(
    "Azure/kubelogin v0.2.13, pkg/internal/token/options.go: AAD_LOGIN_METHOD is taken before --login", 2026, 11, 25
)
_CLIENT, _OIDC = (PROVIDER_VARIABLES[f"{PROVIDER}:{key}"] for key in ("clientId", "useOidc"))


def look_up(
    name: str, spec: ClusterSpec, facts: ClusterFacts, asked_by: AskedBy = OF_STACK, *, of_stack_file: bool = True
) -> tuple[ClusterFacts, list[Problem]]:
    """The facts with the default administrator in the state and those who are administrators of an existing cluster already, and
    problems. `name`: the component's."""
    state = own_state.resources(of_stack_file=of_stack_file) or {}
    admin = str(own_state.named(state, azure_types.ROLE_ASSIGNMENT.token, name_of_default(name)).get("principalId") or "")
    found = replace(facts, admin=admin)
    if spec.existing is not None and facts.azure_rbac:
        given = [each.object_id for each in spec.access.administrators] or ([] if admin else [_runs(asked_by)])
        own, role = spec.context.subscription_id, roles.AKS_RBAC_CLUSTER_ADMIN
        already = frozenset(
            each
            for each in given
            if each and assigned_already.outside_of_stack(role, spec.existing, each, asked_by, own, of_stack_file=of_stack_file)
        )
        found = replace(found, already_admins=already)
    needed = prerequisites.on_path(_PROGRAM, spec.path, KUBELOGIN_PAGE) if spec.on_cluster and facts.entra else []
    return found, [*check(spec, facts, admin, os.environ, lambda: _runs(asked_by)), *needed]


def name_of_default(name: str) -> str:
    """Name of the role assignment of a cluster's default administrator. `name`: the component's."""
    return f"{name}-admin"


def check(
    spec: ClusterSpec, facts: ClusterFacts, admin: str, environment: Mapping[str, str], runs: Callable[[], str]
) -> list[Problem]:
    """`admin`: the default administrator in the state. `runs` returns the object id of who runs the program, "" if unknown."""
    if not spec.on_cluster or not facts.entra:
        return []
    found = list(_login(spec, environment))
    if admin and not spec.access.administrators and (runner := runs()) and runner.lower() != admin.lower():
        found.append(refused("aks.other_administrator", f"{spec.path}.access.admins", admin=admin, runner=runner))
    return found


def _login(spec: ClusterSpec, environment: Mapping[str, str]) -> Sequence[Problem]:
    by_oidc = environment.get(_OIDC, "").lower() == "true"
    if spec.access.login or environment.get(METHOD) or not (by_oidc or environment.get(_CLIENT)):
        return []
    variable, method, login = (_OIDC, "workloadidentity", "oidc") if by_oidc else (_CLIENT, "spn", "spn")
    words = {"variable": variable, "setting": METHOD, "method": method, "login": login}
    return [refused("aks.other_login", f"{spec.path}.access.login", source=SOURCE, **words)]


def object_id(opts: pulumi.InvokeOptions) -> str:
    """Object id of who runs the program. Raises RunError if it can't be read."""
    return answered(lambda: authorization.get_client_config(opts=opts)).object_id


def _runs(asked_by: AskedBy) -> str:
    try:
        return object_id(asked_by.opts)
    except pulumi.RunError as error:
        pulumi.log.debug(f"can't read who runs the program: {error}")
        return ""
