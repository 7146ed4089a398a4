"""A stack with an AKS cluster on the real engine and the embedded Azure: what comes up, what changes, and what goes when.

One stack for the whole file, whose tests follow each other: a control plane takes a while and half a gigabyte.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from pulumi_azure_native import containerservice

from azure_gpu.aks import read_pools
from azure_gpu.shared import sdk_types
from localazure.plugin import projection
from tests.localazure.kubernetes.gpu_cluster import pod
from tests.stack.configurations import with_cluster
from tests.stack.conftest import calm
from tests.support.embedded import SUBSCRIPTION, ServedAzure
from tests.support.patience import SECONDS
from tests.support.stack import ProgramStack, Step

pytestmark = pytest.mark.slow
CLUSTER = "azure-native:containerservice:ManagedCluster"
POOL = "azure-native:containerservice:AgentPool"
ROLE = "azure-native:authorization:RoleAssignment"
PROVIDER = "pulumi:providers:kubernetes"
NAMESPACE = "kubernetes:core/v1:Namespace"
API_VERSION = "2025-09-01"
SOMEBODY = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    """What is declared. Each test changes it and leaves it changed: to bring a cluster back takes as long as to change it."""
    return with_cluster()


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path, kubernetes_bin: Path, config: dict[str, Any]) -> Iterator[ProgramStack]:
    """A stack that is up, with a cluster and one GPU pool."""
    made = ProgramStack(azure, "clusters", config, engine_bin=engine_bin)
    made.create()
    made.update()
    yield made
    made.end()


def pools_in(azure: ServedAzure, stack: ProgramStack) -> dict[str, Any]:
    listed = azure.get(stack.outputs()["clusters"]["shared"] + "/agentPools", API_VERSION).json()["value"]
    # Others with each PUT, and whenever the service likes.
    by_itself = dict.fromkeys(("eTag", "nodeImageVersion", "currentOrchestratorVersion"))
    return {each["name"]: {**each["properties"], **by_itself} for each in listed}


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[tuple[str, str], tuple[Any, Any]]:
    """Properties of pools: what they were, and what they are."""
    keys = {(pool, key) for found in (before, after) for pool, said in found.items() for key in said}
    both = {at: (before.get(at[0], {}).get(at[1]), after.get(at[0], {}).get(at[1])) for at in keys}
    return {at: (was, now) for at, (was, now) in both.items() if was != now}


@pytest.fixture
def kubectl(stack: ProgramStack, kubernetes_bin: Path, tmp_path: Path) -> Callable[..., str]:
    """`kubectl(*arguments, body=…)` with the kubeconfig that the component wrote."""
    [provider] = [each for each in stack.exported()["resources"] if each["type"] == PROVIDER]
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(provider["inputs"]["kubeconfig"])

    def run(*arguments: str, body: object = None) -> str:
        done = subprocess.run(
            [str(kubernetes_bin / "kubectl"), "--kubeconfig", str(kubeconfig), *arguments],
            env=stack.environment,
            input=json.dumps(body),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_who_runs_it_changes_no_plan(stack: ProgramStack, config: dict[str, Any]) -> None:
    """Whoever ran the first `up` stays the administrator, which somebody else is told, and may be named later.

    That the name may go again, the next test's preview shows.
    """

    def admin(found: dict[str, Any]) -> dict[str, Any]:
        [role] = [each for each in found["resources"] if each["type"] == ROLE and "-admin" in each["urn"].split("::")[-1]]
        return role

    mine = stack.exported()
    runs = admin(mine)["inputs"]["principalId"]
    theirs = json.loads(json.dumps(mine))
    for values in (admin(theirs)["inputs"], admin(theirs)["outputs"]):
        values["principalId"] = SOMEBODY
    stack.imports(theirs)
    shown = stack.pulumi("preview", "--expect-no-changes")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert f"the cluster's administrator is {SOMEBODY}, who ran the first `pulumi up`; {runs}" in shown.stdout
    stack.imports(mine)

    said = deepcopy(config)
    said["clusters"]["shared"]["access"] = {"admins": {"service_principals": [runs]}}
    stack.configure(said)
    stack.update()
    assert admin(stack.exported())["urn"].split("::")[-1] == f"shared-admin-{runs[:8]}"
    assert admin(stack.exported())["id"] == admin(mine)["id"]


def policy(expression: str) -> dict[str, Any]:
    """A policy of the API server that denies pods as gatekeeper does, and its binding."""
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "pods"}}
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec = {"matchConstraints": {"resourceRules": [pods]}, "validations": [{"expression": expression}]}
    binding = {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": {"policyName": "pods", "validationActions": ["Deny"]}}
    return {"apiVersion": "v1", "kind": "List", "items": [{**head, "kind": "ValidatingAdmissionPolicy", "spec": spec}, binding]}


def test_an_update_fails_where_the_cluster_would_deny_the_pods_of_a_gpu_node(
    stack: ProgramStack, kubectl: Callable[..., str]
) -> None:
    """What isn't privileged and may not become it passes, as below a landing zone; one pod is denied by its name."""
    unprivileged = "c.?securityContext.?allowPrivilegeEscalation.orValue(true) == false"
    denying = policy(f"object.spec.containers.all(c, {unprivileged} && c.name != 'dcgm-exporter')")
    kubectl("apply", "--filename", "-", body=denying)
    done = stack.pulumi("up", "--yes", "--skip-preview")
    assert done.returncode != 0
    told = done.stdout.partition("the cluster would deny pods")[2]
    assert "dcgm-exporter: " in told
    assert "add gpu-resources to `excludedNamespaces`" in told
    assert "nvidia-device-plugin" not in told
    kubectl("delete", "--filename", "-", body=denying)
    stack.update()


def refreshed(stack: ProgramStack) -> None:
    done = stack.pulumi("refresh", "--yes", "--skip-preview")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_refresh_leaves_nothing_to_change_and_an_update_moves_no_node_while_one_works(
    azure: ServedAzure, stack: ProgramStack, config: dict[str, Any], kubectl: Callable[..., str]
) -> None:
    """Whatever the autoscaler did. Azure shows every pool in the cluster's own body, also those that are resources of their own,
    and AKS rejects another number of nodes than the autoscaler's."""
    kubectl("apply", "--filename", "-", body=pod("one", "default"))
    kubectl("wait", "--for=condition=Ready", "pod/one", f"--timeout={SECONDS}s")
    name = stack.outputs()["gpu_pools"]["shared"]["t4"]["name"]
    assert pools_in(azure, stack)[name]["count"] == 1
    refreshed(stack)
    stack.configure(config)
    assert stack.steps() == []
    config["clusters"]["shared"]["gpu_pools"]["t4"] |= {"labels": {"line": "7"}, "max_nodes": 3}
    for tags in ({}, {"cost": "1"}):  # of the pool, then of the cluster too
        config["tags"] = tags
        stack.configure(config)
        stack.update()
        assert pools_in(azure, stack)[name]["count"] == 1
    assert stack.steps() == []
    assert pools_in(azure, stack)[name]["maxCount"] == 3
    assert "Running" in kubectl("get", "pod", "one", "--output=jsonpath={.status.phase}")


def test_a_change_of_the_cluster_after_a_refresh_leaves_its_pools_as_they_are_while_a_node_works(
    azure: ServedAzure, stack: ProgramStack, config: dict[str, Any], kubectl: Callable[..., str]
) -> None:
    """Also where a node has come since: the cluster's inputs have the pool with the nodes of then."""
    refreshed(stack)
    more = [f"pod/more-{index}" for index in range(4)]  # beside the one that runs, one too many for its node
    kubectl(
        "apply",
        "--filename",
        "-",
        body={"apiVersion": "v1", "kind": "List", "items": [pod(each[4:], "default") for each in more]},
    )
    kubectl("wait", "--for=condition=Ready", *more, f"--timeout={SECONDS}s")
    before = pools_in(azure, stack)
    assert before[stack.outputs()["gpu_pools"]["shared"]["t4"]["name"]]["count"] == 2
    config["clusters"]["shared"]["tier"] = "standard"
    stack.configure(config)
    assert [(step.operation, step.type) for step in stack.changes()] == [("update", CLUSTER)]
    assert changed(before, pools_in(azure, stack)) == {}
    assert kubectl("get", "pods", "--output=jsonpath={.items[*].status.phase}").split() == ["Running"] * 5
    kubectl("delete", "pod/one", *more)


def test_pools_that_are_declared_otherwise_than_a_refresh_read_them_are_the_pools_own_again(
    azure: ServedAzure, stack: ProgramStack, config: dict[str, Any]
) -> None:
    refreshed(stack)
    pool = config["clusters"]["shared"]["gpu_pools"]["t4"]
    pool["max_nodes"] = 4
    stack.configure(config)
    changed_now = {(step.operation, step.type) for step in stack.changes()}
    assert ("update", POOL) in changed_now
    assert changed_now <= {("update", CLUSTER), ("update", POOL)}  # the cluster where its inputs have the pool, too
    [shown] = [each for name, each in pools_in(azure, stack).items() if name != "system"]
    assert shown["maxCount"] == 4
    pool["max_nodes"] = 2
    stack.configure(config)
    assert [(step.operation, step.type) for step in stack.steps()] == [("update", POOL)]


def test_a_change_that_failed_halfway_is_not_undone_by_the_next_update(
    azure: ServedAzure, stack: ProgramStack, config: dict[str, Any]
) -> None:
    """The cluster has shown its pools before they were changed, and what the component knows of them is older still."""
    config["tags"] = {"cost": "7"}
    stack.configure(config)
    refused = azure.command("fault", "fail", "--method", "POST", "--path", "*/listClusterUserCredential", "--status", "409")
    assert refused.returncode == 0, refused.stderr
    try:
        assert stack.pulumi("up", "--yes", "--skip-preview").returncode != 0
    finally:
        calm(azure)
    stack.update()
    assert {(each.get("tags") or {}).get("cost") for name, each in pools_in(azure, stack).items() if name != "system"} == {"7"}
    assert stack.steps() == []


def test_pools_that_azure_shows_in_another_order_make_no_new_cluster(stack: ProgramStack, config: dict[str, Any]) -> None:
    """Nobody promises their order, and the engine compares them by it: pulumi-azure-native issues 1298 and 1808."""
    refreshed(stack)
    deployment = stack.exported()
    [cluster] = [each for each in deployment["resources"] if each["type"] == CLUSTER]
    [component] = [each for each in deployment["resources"] if each["type"] == read_pools.COMPONENT]
    shown = cluster["outputs"]["agentPoolProfiles"]
    assert shown[0]["name"] == "system"
    record = component["outputs"][read_pools.RECORD]
    now = [sdk_types.as_inputs(containerservice.ManagedClusterAgentPoolProfileArgs, each) for each in reversed(shown)]
    cluster["inputs"]["agentPoolProfiles"] = projection.refreshed_inputs(record["sent"], record["shown"], now)
    shown.reverse()
    stack.imports(deployment)
    stack.configure(config)
    assert stack.steps() == []
    config["clusters"]["shared"]["gpu_pools"]["t4"]["labels"] = {"team": "vision"}
    stack.configure(config)
    assert {(step.operation, step.type) for step in stack.changes()} == {("update", CLUSTER), ("update", POOL)}


def test_another_size_of_a_pool_replaces_that_pool_alone(azure: ServedAzure, stack: ProgramStack, config: dict[str, Any]) -> None:
    """Alone: so that the change of the last test has left nothing to do."""
    before = stack.outputs()["gpu_pools"]["shared"]["t4"]["name"]
    replaced = [Step(step, POOL, "shared-pool-t4") for step in ("create-replacement", "replace", "delete-replaced")]
    config["clusters"]["shared"]["gpu_pools"]["t4"]["size"] = "Standard_NC8as_T4_v3"
    stack.configure(config)
    assert stack.changes() == replaced
    after = stack.outputs()["gpu_pools"]["shared"]["t4"]["name"]
    assert after != before
    assert pools_in(azure, stack).keys() == {"system", after}


def test_another_cluster_under_the_same_id_gets_everything_anew(stack: ProgramStack, config: dict[str, Any]) -> None:
    """Nothing of it is done here: a preview is enough to see that the provider goes with its cluster."""
    said = deepcopy(config)
    said["clusters"]["shared"]["pod_cidr"] = "10.200.0.0/16"
    stack.configure(said)
    replaced = {(step.type, step.name) for step in stack.steps() if step.operation == "replace"}
    assert {(CLUSTER, "shared-cluster"), (POOL, "shared-pool-t4"), (PROVIDER, "shared-kubernetes")} <= replaced
    assert (NAMESPACE, "shared-namespace-gpu-jobs") in replaced
    stack.configure(config)


def test_what_is_on_the_cluster_is_deleted_with_it(azure: ServedAzure, stack: ProgramStack) -> None:
    """Nothing on it is deleted one by one: a namespace takes Kubernetes five seconds, which the provider says it waits for."""
    done = stack.pulumi("destroy", "--yes", "--skip-preview")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "shared-namespace-gpu-jobs deleted" in done.stdout
    assert "Waiting for Namespace" not in done.stdout
    left = azure.get(f"/subscriptions/{SUBSCRIPTION}/resources", "2024-11-01").json()["value"]
    assert [each["id"] for each in left if "azure-gpu-tests-clusters" in each["id"]] == []
