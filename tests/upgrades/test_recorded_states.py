"""Whoever has a stack up and takes the newest program sees in `pulumi preview` that nothing changes but what was added since.

Each recorded state is imported into a backend of its own, and the real engine plans today's program over it, with the provider
plugins' own Check and Diff; functions answer what they answered then. A commit that fails here on purpose has to say what a user
sees: what it changes is in `CHANGES`, and told in CHANGELOG.md; for anything else it renews the record,
`python -m tests.upgrades.record --renew NAME`.
"""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.shared.workloads import NAMES
from azure_gpu.stack import written_by
from tests.components.recorded_bodies import has_most
from tests.support.embedded import CHECKOUT
from tests.support.rows import failure
from tests.upgrades import plans, records
from tests.upgrades.stacks import EngineFailedError

# What no record may hold: folders of a machine, salt and cipher text of secrets, keys. /tmp/nbody is in an image of NVIDIA's.
FOLDERS = "|".join(re.escape(f"{folder}/") for folder in (CHECKOUT, Path.home()))
PRIVATE = re.compile(rf'{FOLDERS}|/tmp/(?!nbody)|/Users/|"salt"|"ciphertext"|PRIVATE KEY')


def test_every_shipped_stack_and_every_happy_case_has_its_state_recorded() -> None:
    recorded = sorted(path.name.removesuffix(".json.gz") for path in records.FOLDER.iterdir())
    assert recorded == sorted(records.names()), "make renew"


@pytest.mark.parametrize("name", records.names())
def test_a_record_holds_nothing_of_the_machine_that_made_it(name: str) -> None:
    text = gzip.decompress((records.FOLDER / f"{name}.json.gz").read_bytes()).decode()
    assert PRIVATE.findall(text) == []
    assert json.loads(text)["state"]["resources"] != []


GROUPS_WITH_LOGS = ("add", "gpucontainergroup", "gpucontainergrouprm", "ours", "tensorflow-check", "theirs", "Train_A")
PER_WAY = ("nvidia-device-plugin", "gpu-feature-discovery")
WAYS_OF_SHARING = ("whole", "time-slicing-4", "mig-single")
_GROUP = "azuregpu:index:ContainerGroup$azure-native"
_ON_A_CLUSTER = "azuregpu:index:GpuCluster$kubernetes"
_FIRST = "containers[0]"
_UNPRIVILEGED = (f"{_FIRST}.securityContext.allowPrivilegeEscalation", f"{_FIRST}.securityContext.capabilities")
# What an `up` over a recorded state changes, by the heading in CHANGELOG.md of who has to know it.
CHANGES: dict[str, set[str]] = {
    # Blobs that were deleted or overwritten can be had back, unless `protect_data` is false.
    "Settings of the blob service": {
        "create azuregpu:index:Foundation$azure-native:storage:BlobServiceProperties::foundation-blob-service",
    },
    # The system pool is upgraded with the rest of a cluster whose version is given; an update in place.
    "The version of the system pool": {
        "update azuregpu:index:GpuCluster$azure-native:containerservice:ManagedCluster::big-cluster: "
        "agentPoolProfiles[0].count, agentPoolProfiles[0].orchestratorVersion",
    },
    # A pool that has scaled is updated with the nodes that it has, as the records say nothing of the inputs that were sent.
    "The nodes of a pool that has scaled": {
        f"update azuregpu:index:GpuCluster$azure-native:containerservice:AgentPool::{each}: count"
        for each in ("shared-pool-t4", "theirs-pool-t4", "big-pool-spot", "big-pool-mig", "big-pool-ownoperator")
    },
    # Deployments of endpoints that speak as the stack's identity write metrics.
    "A role for metrics": {"create azuregpu:index:MlWorkspace$azure-native:authorization:RoleAssignment::ml-metrics-role"},
    # Container groups send their logs by a diagnostic setting; the workspace's key goes, by an update in place.
    "Logs of container groups": {
        *(f"create {_GROUP}:monitor:DiagnosticSetting::{each}-logs" for each in GROUPS_WITH_LOGS),
        *(f"update {_GROUP}:containerinstance:ContainerGroup::{each}-group: diagnostics" for each in GROUPS_WITH_LOGS),
    },
    # A container of blobs that nodes mount is made in the stack's own account; one that is there is left as it is.
    "Containers that pools mount": {"create azuregpu:index:BatchPool$azure-native:resources:Deployment::Train_A-containers"},
    # Who changed what by a cluster's API is among its logs.
    "The audit log of a cluster": {
        f"update azuregpu:index:GpuCluster$azure-native:monitor:DiagnosticSetting::{each}-logs: logs[3]"
        for each in ("shared", "big")
    },
    # AKS takes a cluster to new patches of its minor version, in a window. What is a cluster's for good isn't changed: its policy
    # engine, and the second encryption of a storage account.
    "Patches of Kubernetes": {
        change.format(each)
        for each in ("shared", "inside")
        for change in (
            "update azuregpu:index:GpuCluster$azure-native:containerservice:ManagedCluster::{}-cluster: "
            "autoUpgradeProfile.upgradeChannel",
            "create azuregpu:index:GpuCluster$azure-native:containerservice:MaintenanceConfiguration::{}-upgrades",
        )
    },
    # kubelogin's environment may name another login than the Azure CLI's; that is no change of what is on the cluster.
    "How a kubeconfig logs in": {
        *(
            f"update azuregpu:index:GpuCluster$pulumi:providers:kubernetes::{each}-kubernetes: kubeconfig"
            for each in ("shared", "theirs")
        ),
    },
    # A cluster that isn't public keeps its objects in the state where it can't be reached; what is on it stays as it is.
    "Objects of a cluster that isn't reached": {
        "update azuregpu:index:GpuCluster$pulumi:providers:kubernetes::big-kubernetes: deleteUnreachable",
    },
    # What runs beside the GPUs is named by its digest; an update in place, after which its pods start again.
    "Images of what runs beside the GPUs": {
        f"update azuregpu:index:GpuCluster$kubernetes:apps/v1:{kind}::{cluster}-{kind_in_name}-{name}: "
        "spec.template.spec.containers[0].image"
        for cluster in ("big", "shared", "theirs")
        for kind, kind_in_name, names in (
            ("Deployment", "deployment", ("nfd-master",)),
            ("DaemonSet", "daemon-set", ("dcgm-exporter", *(f"{each}-{way}" for each in PER_WAY for way in WAYS_OF_SHARING))),
        )
        for name in names
    },
    # What runs beside the GPUs is not privileged; counters of profiling are those of MIG. In place, with the images above.
    "Privileges beside the GPUs": {
        *(
            f"update {_ON_A_CLUSTER}:apps/v1:DaemonSet::{cluster}-daemon-set-{name}: "
            + ", ".join(f"spec.template.spec.{each}" for each in (*image, *changed))
            for image in ((f"{_FIRST}.image",), ())  # a newer record has it by its digest
            for cluster in ("big", "shared", "theirs")
            for name, changed in (
                *(
                    (f"gpu-feature-discovery-{way}", (*_UNPRIVILEGED, f"{_FIRST}.securityContext.privileged"))
                    for way in WAYS_OF_SHARING
                ),
                ("nvidia-device-plugin-mig-single", (_UNPRIVILEGED[0], f"{_UNPRIVILEGED[1]}.drop")),
                ("dcgm-exporter", (_UNPRIVILEGED[0], f"{_UNPRIVILEGED[1]}.drop")),
                (
                    "dcgm-exporter",
                    (_UNPRIVILEGED[0], f"{_UNPRIVILEGED[1]}.add", f"{_UNPRIVILEGED[1]}.drop", "volumes[1].configMap.name"),
                ),
            )
        ),
        *(
            f"{act} {_ON_A_CLUSTER}:core/v1:ConfigMap::{cluster}-config-map-dcgm-exporter-counters-{of_text}"
            for cluster in ("big", "shared", "theirs")
            for act, of_text in (("delete", "6a73d07a"), ("create", "f1049eb2"))
        ),
    },
    # What a node that has gone said of its GPUs is removed.
    "The garbage collector of NFD": {
        f"create azuregpu:index:GpuCluster$kubernetes:{kind}::{cluster}-{name}-nfd-gc"
        for cluster in ("big", "shared", "theirs")
        for kind, name in (
            ("core/v1:ServiceAccount", "service-account"),
            ("rbac.authorization.k8s.io/v1:ClusterRole", "cluster-role-azure-gpu"),
            ("rbac.authorization.k8s.io/v1:ClusterRoleBinding", "cluster-role-binding-azure-gpu"),
            ("apps/v1:Deployment", "deployment"),
        )
    },
    # The Azure of these records ran no templates, so that its endpoints have no traffic; the next `up` repairs what it shows.
    "Endpoints that somebody has changed": {
        f"update azuregpu:index:MlEndpoint$azure-native:resources:Deployment::{each}-traffic: properties.template.metadata.drift"
        for each in ("digits", "on-cluster")
    },
    # The subnet of a machine's own network has the group that its interface has; an update in place.
    "The group at a machine's subnet": {
        f"update azuregpu:index:GpuVm$azure-native:network:VirtualNetwork::{each}-network: subnets[0].networkSecurityGroup"
        for each in ("trainer", "windows")
    },
    # Old builds are deleted from a registry that builds.
    "A task that purges the registry": {"create azuregpu:index:Foundation$azure-native:containerregistry:Task::foundation-purge"},
    # Images are built by deployments; the records of runs go. Images keep their tags.
    "Builds": {
        *(f"create azuregpu:index:Foundation$azure-native:resources:Deployment::foundation-build-{each}" for each in NAMES),
        *(f"delete azuregpu:index:Foundation$azure-native:containerregistry:TaskRun::foundation-build-{each}" for each in NAMES),
    },
}
ADDED = set[str]().union(*CHANGES.values())
CHANGELOG = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_changelog_tells_each_change_of_a_stack_that_is_up() -> None:
    of_version = re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1]
    told = of_version.partition("### What the first `up` over a stack of 0.1.0 changes\n")[2].partition("\n###")[0]
    assert set(CHANGES) <= set(re.findall(r"^- \*\*(.+?)\.\*\*", told, re.MULTILINE))


def at_once() -> list[Any]:
    """Shipped stacks but `lite`, which `local` has whole, and the longest case of each component; the others once a night: that a
    change of the library declares them otherwise, the recorded bodies of each show (tests/components/test_recorded_bodies.py)."""
    at_night = [name for name in records.names() if name.endswith(".lite") or (".happy." in name and not has_most(name))]
    alone = [pytest.param([name], id=name) for name in records.names() if name not in at_night]
    return [*alone, pytest.param(at_night, marks=(pytest.mark.nightly, pytest.mark.timeout(1800)), id="all others")]


@pytest.mark.slow
@pytest.mark.parametrize("names", at_once())
def test_today_s_program_changes_nothing_of_a_stack_that_is_up(names: list[str], tmp_path: Path, engine_bin: Path) -> None:
    def changes_nothing(name: str) -> None:
        (tmp_path / name).mkdir()
        record = records.load(name)
        plan = plans.over(record, tmp_path / name, engine_bin)
        changes = [change for change in plan.changes if change not in ADDED]
        assert not changes, "\n".join(changes)
        of_recorded = [change for change in plan.changes if not change.startswith("create ")]
        assert plan.unchanged + len(of_recorded) == plans.resources(record)

    wrong = [failed for name in names if (failed := failure(changes_nothing, [name], name))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_a_cluster_keeps_its_addresses_whatever_its_network_has_by_now(tmp_path: Path, engine_bin: Path) -> None:
    recorded = json.dumps(records.load("cluster.happy.private"))
    assert '"serviceCidr": "10.0.0.0/16"' in recorded  # which isn't set
    record = json.loads(recorded.replace("/subscriptions/s/", "/subscriptions/11111111-2222-3333-4444-555555555555/"))
    network = {
        "addressSpace": {"addressPrefixes": ["10.0.0.0/8"]},
        "subnets": [{"name": "n", "addressPrefix": "10.0.0.0/20"}],
    }
    plan = plans.over(record, tmp_path, engine_bin, answers={"azure-native:network:getVirtualNetwork": network})
    assert not [change for change in plan.changes if ":ManagedCluster::" in change and change not in ADDED]


@pytest.mark.slow
def test_a_state_of_a_newer_version_is_refused_in_one_line(tmp_path: Path, engine_bin: Path) -> None:
    record = records.load("pool.happy.defaults")
    [stack] = [each for each in record["state"]["resources"] if each["type"] == "pulumi:pulumi:Stack"]
    assert written_by.OUTPUT not in stack["outputs"]  # which a program of 0.1.0 didn't export
    stack["outputs"][written_by.OUTPUT] = "99.1.0"
    with pytest.raises(EngineFailedError) as refused:
        plans.over(record, tmp_path, engine_bin)
    assert "stack: this stack was last updated by a newer version of azure-gpu" in str(refused.value)
    assert "run azure-gpu 99.1.0 or a newer one" in str(refused.value)
    assert "Traceback" not in str(refused.value)


@pytest.mark.slow
def test_a_plan_over_a_recorded_state_tells_updates_and_replacements(tmp_path: Path, engine_bin: Path) -> None:
    record = records.load("pool.happy.defaults")
    key, tags = "azure-gpu:pools", json.dumps({"cost": "42"})
    pools = record["config"][key].replace("standard_nc4as_t4_v3", "standard_nc8as_t4_v3")
    assert pools != record["config"][key]
    plan = plans.over(record, tmp_path, engine_bin, {**record["config"], key: pools, "azure-gpu:tags": tags})
    group, pool = ("Foundation$azure-native:resources:ResourceGroup", "BatchPool$azure-native:batch:Pool")
    assert f"update azuregpu:index:{group}::foundation-resource-group: tags.cost" in plan.changes
    assert [line.split("::")[-1] for line in plan.changes if line.startswith(f"replace azuregpu:index:{pool}")] == ["train-pool"]
    changed = [change for change in plan.changes if change not in ADDED]
    assert plan.unchanged + len(changed) == plans.resources(record)
