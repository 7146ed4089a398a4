"""Resources of a workspace, beyond the inputs in the cases."""

import re
from pathlib import Path
from typing import Any

import pulumi
import pytest

from azure_gpu.catalog.roles import REPOSITORY_READER
from azure_gpu.foundation.args import FoundationWiring
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.ml.workspace import assets as workspace_assets, existing as workspace_existing
from azure_gpu.ml.workspace.args import MlWorkspaceWiring
from azure_gpu.ml.workspace.attached import gpu_problems
from azure_gpu.ml.workspace.immutable import changed_content
from azure_gpu.ml.workspace.workspace import MlWorkspace
from azure_gpu.shared.attachable import ClusterOfWorkspace
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.look_up import OF_STACK
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from tests.components.ml.ml_workspaces import CLUSTERS, CUDA, END, EVERYTHING, T4, VMS
from tests.components.recording import KEYS, UNKNOWN, Recorded, Registration, declare
from tests.components.settings_of import STACK_ARGS, args_of

ML = "azure-native:machinelearningservices"
ROLE = "azure-native:authorization:RoleAssignment"
FOUNDATION: FoundationWiring = {
    "stack": STACK_ARGS,
    "identity": {"create": True},
    "registry": {"create": True},
    "log_workspace": {"create": True},
    "storage": {"create": True},
    "workloads": ["scoring", "digits"],
    "image_source": "https://github.com/someone/fork.git#0123abc",
    "write_blobs": True,
}
THEIRS = (
    "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/shared/providers/Microsoft.MachineLearningServices"
    "/workspaces/theirs"
)
OF_AZURE = {
    "id": THEIRS,
    "name": "theirs",
    "location": "westeurope",
    "v1LegacyMode": False,
    "publicNetworkAccess": "Disabled",
    "managedNetwork": {"isolationMode": "AllowInternetOutbound"},
}


def declared(*, preview: bool = False, foundation: FoundationWiring = FOUNDATION, lookups: Any = None, **args: Any) -> Recorded:
    """A workspace with these arguments, on a foundation with all parts."""

    def build() -> None:
        dependencies: OfStack = {"stack": STACK_ARGS, **Foundation("foundation", Wired(foundation)).dependencies}
        MlWorkspace("ml", Wired(args_of(MlWorkspaceWiring, dependencies, {"clusters": CLUSTERS, "vms": VMS}, args)))

    return declare(build, preview=preview, lookups=lookups or {})


def named(recorded: Recorded, name: str) -> Registration:
    [found] = [each for each in recorded.registrations if each.name == name]
    return found


def test_the_identity_may_approve_private_endpoints_once_on_each_resource_that_rules_lead_to() -> None:
    lake = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/lake"
    account = declared().one("azure-native:storage:StorageAccount").inputs["accountName"]
    rules = {
        "blobs": {"resource_id": lake, "subresource": "blob"},
        "files": {"resource_id": lake.upper(), "subresource": "file"},
        "own": {"resource_id": f"/a/storageAccounts/{account}", "subresource": "blob"},
        "made": {"resource_id": pulumi.Output.from_input("/made"), "subresource": "vault"},
        "packages": {"fqdn": "pypi.org"},
    }
    args: Any = {"managed_network": "approved_outbound", "outbound_rules": rules}
    recorded = declared(**args)
    on_targets = {each.name: each for each in recorded.of_type(ROLE) if each.name.startswith("ml-rule-")}
    assert {name: each.inputs["scope"] for name, each in on_targets.items()} == {
        "ml-rule-blobs-approver-role": lake,
        "ml-rule-made-approver-role": "/made",
    }
    # Azure AI Enterprise Network Connection Approver
    assert {each.inputs["roleDefinitionId"][-36:] for each in on_targets.values()} == {"b556d68e-0be0-4f35-a333-ad7ee1ce17ea"}
    assert {each.urn for each in on_targets.values()} <= set(recorded.one(f"{ML}:Workspace").dependencies)
    told = declared(foundation={**FOUNDATION, "assign_roles": False}, **args).log
    [commands] = [line for line in told if "before the workspace can be created" in line]
    [on_lake] = [line for line in commands.splitlines() if line.endswith(lake)]
    assert "Connection Approver" in on_lake


@pytest.mark.slow
def test_machines_have_names_that_change_with_what_cannot_be_changed_and_stay_otherwise() -> None:
    def name_of(**changed: Any) -> str:
        machines = {"size": T4, "expires_after": END, **changed}
        return named(declared(computes={"tesla": machines}), "ml-compute-tesla").inputs["computeName"]

    first = name_of()
    assert re.fullmatch(r"tesla-x[0-9a-f]{4}", first)
    assert {name_of(max_nodes=4), name_of(idle_minutes=30), name_of(tags={"a": "b"}), name_of(size="nc4as_t4_v3")} == {first}
    others = [name_of(size="Standard_NC8as_T4_v3"), name_of(subnet_id="/a"), name_of(subnet_id="/b")]
    assert len({first, *others}) == 4
    assert name_of(replace="drain-first") == name_of(replace="drain-first", subnet_id="/a") == "tesla"


def test_a_subnet_that_another_resource_makes_is_in_the_name_once_it_is_known() -> None:
    in_subnet = {"t4": {"size": T4, "expires_after": END, "subnet_id": pulumi.Output.from_input("/a")}}
    known = named(declared(computes=in_subnet), "ml-compute-t4").inputs["properties"]["properties"]
    assert (known["subnet"], known["enableNodePublicIp"]) == ({"id": "/a"}, True)
    # Without addresses machines speak to the workspace through its private endpoint.
    private = declared(computes=in_subnet, private_endpoint={"subnet_id": "/b"})
    assert named(private, "ml-compute-t4").inputs["properties"]["properties"]["enableNodePublicIp"] is False


def test_one_extension_serves_all_computes_on_a_cluster_and_they_wait_for_it() -> None:
    args: Any = {"cluster": "shared", "extension": {"insecure": True}}
    recorded = declared(computes={"one": {"cluster": "shared", "namespace": "other"}, "two": args})
    extension = recorded.one("azure-native:kubernetesconfiguration:Extension")
    assert extension.inputs["clusterName"] == "shared-in-azure"
    assert "identity" not in extension.inputs  # Azure/azure-powershell issues 22455 and 24321: AKS refuses one
    settings = extension.inputs["configurationSettings"]
    assert (settings["inferenceRouterHA"], settings["internalLoadBalancerProvider"]) == ("True", "azure")
    for name in ("ml-compute-one", "ml-compute-two"):
        assert extension.urn in named(recorded, name).dependencies
    own = {"one": {"cluster": "shared"}, "two": {"cluster": "shared", "extension": {"install": False}}}
    assert declared(computes=own).of_type(extension.type) == []
    with pytest.raises(
        Refused, match=r"computes\.two\.extension: .* once for a cluster, and ml_workspace\.computes\.one\.extension"
    ):
        declared(computes={"one": args, "two": args})


def test_what_the_workspace_offers_to_endpoints_is_found_by_name_and_by_version() -> None:
    made: list[MlWorkspace] = []

    def build() -> None:
        dependencies: OfStack = {"stack": STACK_ARGS, **Foundation("foundation", Wired(FOUNDATION)).dependencies}
        made.append(
            MlWorkspace("ml", Wired(args_of(MlWorkspaceWiring, dependencies, EVERYTHING, {"clusters": CLUSTERS, "vms": VMS})))
        )

    declare(build, lookups={})
    offered = made[0].dependencies.get("ml_workspace")
    assert offered is not None
    assert offered["models"].keys() == {"mnist-1", "mnist:1", "mnist-2", "mnist:2", "theirs", "theirs:1"}
    assert offered["models"]["mnist:2"] is offered["models"]["mnist-2"]
    assert offered["environments"].keys() == {"scoring", "train", "train:3", "triton", "triton:1"}
    told = {key: (each["gpu"], each["serves"]) for key, each in offered["environments"].items()}
    assert (told["scoring"], told["train"], told["triton"]) == ((False, True), (True, False), (False, True))
    assert [key for key, each in offered["environments"].items() if each["needs_model"]] == ["scoring"]
    shared = offered["computes"]["shared"]
    assert (shared["kind"], shared["gpus"], shared["default_instance_type"]) == ("Kubernetes", {"gpu": 1, "small": 0}, "small")


def test_a_version_has_a_hook_that_refuses_another_content_and_lets_the_rest_change() -> None:
    recorded = declared(models={"mnist": {"version": "1", "path": "mnist/1"}})
    model = recorded.one(f"{ML}:ModelVersion")
    [name] = model.before_update
    hook = recorded.hooks[name]
    assert hook.opts is not None
    assert hook.opts.on_dry_run
    old = {"version": "1", "properties": {"modelUri": "a", "modelType": "custom_model", "description": "x"}}

    def ask(**changed: Any) -> None:
        new = {**old, "properties": {**old["properties"], **changed}}
        hook(pulumi.ResourceHookArgs("urn", "id", "name", f"{ML}:ModelVersion", new_inputs=new, old_inputs=old))

    ask(description="y")
    with pytest.raises(pulumi.RunError, match=r"ml_workspace\.models\.mnist: version 1 exists with another modelUri"):
        ask(modelUri="b")


def test_what_is_not_known_before_an_update_is_no_other_content() -> None:
    old = {"properties": {"image": "a"}}
    assert changed_content(f"{ML}:EnvironmentVersion", old, {"properties": {"image": UNKNOWN}}) == []
    assert changed_content(f"{ML}:EnvironmentVersion", old, {"properties": {"image": "b", "condaFile": "c"}}) == [
        "image",
        "condaFile",
    ]


def test_a_conda_file_is_read_from_the_programs_folder_and_says_whether_it_is_for_gpus(tmp_path: Path) -> None:
    (tmp_path / "gpu.yml").write_text("dependencies: [python=3.12, pip: ['tensorflow[and-cuda]==2.21.0', onnxruntime]]")
    (tmp_path / "bad.yml").write_text("- python")
    args: Any = {
        "gpu": {"version": "1", "image": "python:3.12", "conda_file": "gpu.yml"},
        "set": {"version": "1", "image": CUDA, "conda_file": "gpu.yml", "gpu": False},
        "bad": {"version": "1", "image": "python:3.12", "conda_file": "bad.yml"},
        "none": {"version": "1", "image": "python:3.12", "conda_file": "none.yml"},
        "nul": {"version": "1", "image": "python:3.12", "conda_file": "nul\0.yml"},
    }
    specs = workspace_assets.resolve({"environments": args}, "ml_workspace")[0].environments
    read, problems = workspace_assets.read_conda(specs, tmp_path)
    assert {name: each.gpu for name, each in read.items()} == {
        "gpu": True,
        "set": False,
        "bad": False,
        "none": False,
        "nul": False,
    }
    assert [(each.path.split(".")[2], each.severity.value, each.message[:30]) for each in problems] == [
        ("gpu", "warning", "onnxruntime is CPU-only, and t"),
        ("bad", "error", "not a valid conda file: expect"),
        ("none", "error", "this file can't be read: No su"),
        ("nul", "error", "this file can't be read: not a"),
    ]


def test_a_workspace_without_what_it_stands_on_is_refused_with_all_of_it() -> None:
    args: MlWorkspaceWiring = {
        "stack": STACK_ARGS,
        "resource_group_name": "group",
        "computes": {"t4": {"size": T4, "expires_after": END}},
        "environments": {"scoring": {"workload": "scoring"}},
    }
    with pytest.raises(Refused) as refused:
        declare(lambda: MlWorkspace("ml", Wired(args)), lookups=KEYS)
    assert [problem.path for problem in refused.value.problems] == [
        "foundation.storage",
        "foundation.identity",
        "foundation.log_workspace",
        "ml_workspace.environments.scoring.workload",
    ]


def test_the_stack_s_identity_writes_metrics_of_endpoints_once_where_it_can_t_have_the_role_already() -> None:
    answers = {f"{ML}:getWorkspace": OF_AZURE}
    writes = ("foundation-identity", "AzureML Metrics Writer (preview)")
    assert [role[:3] for role in declared().roles if "Metrics" in role.role] == [(*writes, "ml-workspace")]
    theirs = declared(lookups=answers, existing=THEIRS)
    assert [role[:3] for role in theirs.roles if "Metrics" in role.role] == [(*writes, THEIRS)]

    identity = THEIRS.rpartition("/Microsoft")[0] + "/Microsoft.ManagedIdentity/userAssignedIdentities/runner"
    answers["azure-native:managedidentity:getUserAssignedIdentity"] = {"id": identity, "principalId": "principal-of-runner"}
    both: FoundationWiring = {**FOUNDATION, "identity": {"existing": identity}}
    recorded = declared(foundation=both, lookups=answers, existing=THEIRS)
    assert [role for role in recorded.roles if "Metrics" in role.role] == []
    [told] = [line for line in recorded.log if "write metrics" in line]
    assert told.endswith(f"--role 'AzureML Metrics Writer (preview)' --scope {THEIRS}")
    assert f"--ids {identity.lower()} " in told


def test_an_existing_workspace_tells_which_registry_and_account_it_uses() -> None:
    uses = {"containerRegistry": "/g/registries/Acr1", "storageAccount": "/g/storageAccounts/st1", "id": THEIRS}
    found: list[Any] = []

    def build() -> None:
        args = args_of(MlWorkspaceWiring, {"stack": STACK_ARGS, "resource_group_name": "g", "existing": THEIRS})
        found.append(MlWorkspace("ml", Wired(args)).dependencies.get("ml_workspace"))
        found.append(workspace_existing.of_id(THEIRS, "ml_workspace", OF_STACK, "11111111-2222-3333-4444-555555555555")[0])

    declare(build, lookups={f"{ML}:getWorkspace": {**OF_AZURE, **uses}})
    assert [each["uses"] for each in found] == [{"acr1", "st1"}] * 2


def test_the_extension_waits_for_what_is_on_the_cluster_and_its_compute_for_the_extension() -> None:
    waited_for: list[pulumi.CustomResource] = []

    def build() -> None:
        dependencies: OfStack = {"stack": STACK_ARGS, **Foundation("foundation", Wired(FOUNDATION)).dependencies}
        waited_for.append(pulumi.CustomResource("test:index:OnTheCluster", "on-the-cluster"))
        ready = waited_for[0].urn.apply(lambda _: "/id/of/shared")
        clusters: dict[str, ClusterOfWorkspace] = {"shared": {**CLUSTERS["shared"], "id": ready}}
        MlWorkspace("ml", Wired(args_of(MlWorkspaceWiring, dependencies, EVERYTHING, {"clusters": clusters, "vms": VMS})))

    recorded = declare(build, lookups={})
    extension = named(recorded, "ml-extension-shared")
    assert named(recorded, "on-the-cluster").urn in extension.dependencies
    assert extension.urn in named(recorded, "ml-compute-shared").dependencies


def test_of_a_cluster_that_exists_nobody_knows_how_many_gpus_a_pod_may_have() -> None:
    theirs: ClusterOfWorkspace = {**CLUSTERS["shared"], "existing": True}
    assert list(gpu_problems({"large": 8}, theirs, "here")) == []
    [problem] = gpu_problems({"large": 8, "none": 0}, CLUSTERS["shared"], "here")
    assert problem.path.startswith("here")


def test_the_identity_also_gets_the_role_for_pulling_of_a_registry_that_honours_no_other() -> None:
    def build() -> None:
        dependencies: OfStack = {"stack": STACK_ARGS, **Foundation("foundation", Wired(FOUNDATION)).dependencies}
        registry = {**dependencies.get("registry", {}), "pull_role": REPOSITORY_READER}
        MlWorkspace("ml", Wired(args_of(MlWorkspaceWiring, dependencies, {"registry": registry})))

    given = {each.role for each in declare(build).roles if each.scope == "foundation-registry" and each.who == "ml-identity"}
    assert given == {"Contributor", "Container Registry Repository Reader"}
