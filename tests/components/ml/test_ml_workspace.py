"""Resources of a workspace, beyond the inputs in the cases."""

import re
from pathlib import Path
from typing import Any

import pulumi
import pytest

from azure_gpu.catalog.problems import Severity
from azure_gpu.foundation.args import FoundationWiring
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.ml.workspace import assets as workspace_assets
from azure_gpu.ml.workspace.args import ComputeArgs, MlWorkspaceWiring, ModelArgs, Network
from azure_gpu.ml.workspace.extension import gpu_problems
from azure_gpu.ml.workspace.immutable import changed_content
from azure_gpu.ml.workspace.rules import problems_of
from azure_gpu.ml.workspace.workspace import MlWorkspace
from azure_gpu.shared.attachable import ClusterOfWorkspace
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from azure_gpu.shared.workloads import Workload
from tests.components.ml.ml_workspaces import CLUSTERS, CUDA, END, EVERYTHING, T4, VMS, ZONES
from tests.components.recording import KEYS, UNKNOWN, Recorded, Registration, declare, readable
from tests.components.settings_of import STACK_ARGS, args_of

ML = "azure-native:machinelearningservices"
ROLE = "azure-native:authorization:RoleAssignment"
FOUNDATION: FoundationWiring = {
    "stack": STACK_ARGS,
    "identity": {"create": True},
    "registry": {"create": True},
    "log_workspace": {"create": True},
    "storage": {"create": True},
    "workloads": [Workload.SCORING, Workload.DIGITS],
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


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_two_workspaces_in_one_program_share_no_urn(preview: bool) -> None:
    def build() -> None:
        dependencies: OfStack = {"stack": STACK_ARGS, **Foundation("foundation", Wired(FOUNDATION)).dependencies}
        MlWorkspace("one", Wired(args_of(MlWorkspaceWiring, dependencies, EVERYTHING, {"clusters": CLUSTERS, "vms": VMS})))
        MlWorkspace("two", Wired({**dependencies, "computes": {"t4": {"size": T4, "expires_after": END}}}))

    urns = [each.urn for each in declare(build, preview=preview, lookups={}).registrations]
    assert len(urns) == len(set(urns))


def test_workspace_and_vault_have_no_name_that_a_deleted_one_could_still_hold() -> None:
    recorded = declared()
    assert "workspaceName" not in recorded.one(f"{ML}:Workspace").inputs
    assert "vaultName" not in recorded.one("azure-native:keyvault:Vault").inputs
    workspace = declared(workspace_name="vision").one(f"{ML}:Workspace")
    assert (workspace.inputs["workspaceName"], workspace.delete_before_replace) == ("vision", True)


def test_a_workspace_waits_for_the_rights_of_its_identity_and_what_is_in_it_for_the_right_on_itself() -> None:
    recorded = declared(computes={"t4": {"size": T4, "expires_after": END}})
    workspace = recorded.one(f"{ML}:Workspace")
    on_others = {each.name: each for each in recorded.of_type(ROLE) if each.name.startswith("ml-")}
    on_itself = on_others.pop("ml-workspace-role")
    on_others.pop("ml-metrics-role")  # the stack's identity's
    assert {name: each.inputs["roleDefinitionId"][-36:] for name, each in on_others.items()} == {
        "ml-storage-role": "b24988ac-6180-42a0-ab88-20f7382dd24c",  # Contributor
        "ml-storage-blob-role": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",  # Storage Blob Data Contributor
        "ml-vault-role": "b24988ac-6180-42a0-ab88-20f7382dd24c",
        "ml-vault-secrets-role": "00482a5a-887f-4fb3-b363-3b7fe8e74483",  # Key Vault Administrator
        "ml-registry-role": "b24988ac-6180-42a0-ab88-20f7382dd24c",
        "ml-insights-role": "b24988ac-6180-42a0-ab88-20f7382dd24c",
    }
    assert {each.urn for each in on_others.values()} <= set(workspace.dependencies)
    compute = named(recorded, "ml-compute-t4")
    assert on_itself.urn in compute.dependencies
    assert compute.deleted_with == workspace.urn
    # The stack's own identity has its rights before anything can run as it.
    assert named(recorded, "foundation-blob-role").urn in workspace.dependencies
    assert compute.inputs["identity"]["userAssignedIdentities"] == ["/id-of/foundation-identity"]
    assert workspace.inputs["identity"]["userAssignedIdentities"] == ["/id-of/ml-identity"]


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


def test_an_administrator_gets_commands_that_are_complete_before_the_vault_has_a_name() -> None:
    recorded = declared(foundation={**FOUNDATION, "assign_roles": False})
    assert recorded.of_type(ROLE) == []
    [told] = [line for line in recorded.log if "before the workspace can be created" in line]
    commands = [line for line in told.splitlines() if line.startswith("az ")]
    assert [re.findall(r"--role '?([\w ]+?)'? --scope", line)[0] for line in commands] == [
        *("Contributor", "Storage Blob Data Contributor"),  # on the storage account
        *("Contributor", "Key Vault Administrator"),
        *("Contributor",) * 3,  # on registry, insights and the workspace
    ]
    group = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/azure-gpu-vision-test"
    identity = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/azure-gpu-vision-test-ml"
    assert all(identity in line for line in commands)
    assert "starts_with(name, 'ml-vault')" in commands[2]
    assert told.splitlines()[-2] == "and once it exists:"


def test_a_machine_at_another_address_is_another_compute() -> None:
    bench = named(declared(computes={"bench": {"vm": "workshop", "private_key": "key"}}), "ml-compute-bench")
    assert "properties.properties.address" in bench.replace_on_changes
    assert bench.delete_before_replace


def test_no_key_of_anything_is_read_or_kept() -> None:
    recorded = declared(**EVERYTHING)
    assert recorded.lookups == []
    kept = " ".join(readable(each.wire) for each in recorded.registrations)
    assert "key-of-machine" not in kept
    assert "key-of-certificate" not in kept
    assert recorded.one(f"{ML}:Workspace").inputs["systemDatastoresAuthMode"] == "Identity"
    assert recorded.one(f"{ML}:Datastore").inputs["properties"]["credentials"] == {"credentialsType": "None"}


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


def test_an_existing_workspace_is_looked_up_and_only_added_to() -> None:
    lookups = {f"{ML}:getWorkspace": OF_AZURE}
    made: list[MlWorkspace] = []

    def build() -> None:
        dependencies: OfStack = {"stack": STACK_ARGS, **Foundation("foundation", Wired(FOUNDATION)).dependencies}
        computes: dict[str, ComputeArgs] = {"t4": {"size": T4, "expires_after": END}}
        models: dict[str, ModelArgs] = {"mnist": {"version": "1", "path": "mnist/1"}}
        made.append(MlWorkspace("ml", Wired({**dependencies, "existing": THEIRS, "computes": computes, "models": models})))

    recorded = declare(build, lookups=lookups)
    of_it = {each.type for each in recorded.registrations if each.name.startswith("ml-")}
    assert of_it == {"azure-native:storage:BlobContainer", f"{ML}:Compute", f"{ML}:Datastore", f"{ML}:ModelVersion", ROLE}
    compute = named(recorded, "ml-compute-t4")
    assert (compute.inputs["workspaceName"], compute.inputs["resourceGroupName"]) == ("theirs", "shared")
    uri = recorded.one(f"{ML}:ModelVersion").inputs["properties"]["modelUri"]
    assert uri == (
        "azureml://subscriptions/11111111-2222-3333-4444-555555555555/resourcegroups/shared/workspaces/theirs"
        "/datastores/models_foundation-storage/paths/mnist/1"
    )
    store = recorded.one(f"{ML}:Datastore").inputs
    assert store["name"] == "models_foundation-storage"  # the account's: another stack has another one
    assert store["properties"]["serviceDataAccessAuthIdentity"] == "None"
    offered = made[0].dependencies.get("ml_workspace")
    assert offered is not None
    assert (offered["existing"], offered["public"], offered["managed_network"]) == (True, False, True)


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
    told = {key: (each["gpu"], each["serves"], each["port"]) for key, each in offered["environments"].items()}
    assert told["scoring"] == (False, True, 5001)
    assert told["train"] == (True, False, 0)
    assert told["triton"] == (False, True, 8000)
    assert [key for key, each in offered["environments"].items() if each["needs_model"]] == ["scoring"]
    shared = offered["computes"]["shared"]
    assert (shared["kind"], shared["gpus"], shared["default_instance_type"]) == ("Kubernetes", {"gpu": 1, "small": 0}, "small")


def built(recorded: Recorded, workload: str) -> tuple[Registration, dict[str, Any]]:
    """The deployment that builds a workload, and the properties of its task run."""
    [build] = [each for each in recorded.of_type("azure-native:resources:Deployment") if each.name.endswith(f"build-{workload}")]
    [run] = build.inputs["properties"]["template"]["resources"]
    return build, run["properties"]


def test_a_scoring_environment_is_the_image_that_the_registry_builds_under_its_tag() -> None:
    recorded = declared(environments={"scoring": {"workload": "scoring"}})
    environment = recorded.one(f"{ML}:EnvironmentVersion")
    build, run = built(recorded, "scoring")
    tag = run["forceUpdateTag"]
    assert environment.inputs["version"] == tag
    assert environment.inputs["properties"]["image"].endswith(f"/scoring:{tag}")
    assert build.urn in environment.dependencies
    routes = environment.inputs["properties"]["inferenceConfig"]
    assert routes["scoringRoute"] == {"path": "/score", "port": 5001}
    assert routes["livenessRoute"] == routes["readinessRoute"] == {"path": "/", "port": 5001}


def test_an_environment_with_a_model_in_its_image_is_built_from_several_workloads_and_needs_no_model() -> None:
    recorded = declared(environments={"digits": {"workload": "digits"}})
    _build, run = built(recorded, "digits")
    request = run["runRequest"]
    assert request["sourceLocation"].endswith(":workloads")
    assert (request["dockerFilePath"], request["imageNames"]) == (
        "digits/image.Dockerfile",
        [f"digits:{run['forceUpdateTag']}"],
    )
    environment = recorded.one(f"{ML}:EnvironmentVersion")
    assert environment.inputs["properties"]["inferenceConfig"]["scoringRoute"] == {"path": "/score", "port": 5001}


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
        "environments": {"scoring": {"workload": Workload.SCORING}},
    }
    with pytest.raises(Refused) as refused:
        declare(lambda: MlWorkspace("ml", Wired(args)), lookups=KEYS)
    assert [problem.path for problem in refused.value.problems] == [
        "foundation.storage",
        "foundation.identity",
        "foundation.log_workspace",
        "ml_workspace.environments.scoring.workload",
    ]


def test_a_preview_says_what_machines_and_a_managed_network_cost() -> None:
    rules = {"packages": {"fqdn": "pypi.org"}}
    args = {"managed_network": "approved_outbound", "outbound_rules": rules}
    recorded = declared(preview=True, computes={"t4": {"size": T4, "max_nodes": 2, "expires_after": END}}, **args)
    told = " ".join(recorded.log)
    assert "t4 costs" in told
    assert "with 2 machines, and 0 USD/hour while idle" in told
    assert "an Azure Firewall (basic), billed by the hour" in told


def test_the_identity_of_a_workspace_has_its_roles_and_no_other() -> None:
    own = [role for role in declared().roles if role.who == "ml-identity"]
    assert own == [
        ("ml-identity", role, scope, "MlWorkspace::ml")
        for role, scope in (
            ("Contributor", "foundation-registry"),
            ("Contributor", "foundation-storage"),
            ("Contributor", "ml-insights"),
            ("Contributor", "ml-vault"),
            ("Contributor", "ml-workspace"),
            ("Key Vault Administrator", "ml-vault"),
            ("Storage Blob Data Contributor", "foundation-storage"),
        )
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


def test_the_certificate_of_an_extension_is_sent_as_a_secret() -> None:
    extension = declared(**EVERYTHING).one("azure-native:kubernetesconfiguration:Extension")
    assert extension.inputs["configurationProtectedSettings"] == {
        "sslCertPemFile": "certificate",
        "sslKeyPemFile": "key-of-certificate",
    }
    assert set(readable(extension.wire["configurationProtectedSettings"]).split()) == {"sslCertPemFile", "sslKeyPemFile"}
    assert "key-of-certificate" not in readable(extension.wire)
    assert "key-of-certificate" not in str(extension.inputs["configurationSettings"])


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


def test_a_private_workspace_without_a_private_endpoint_is_made_with_a_warning() -> None:
    recorded = declared(network="private")
    assert recorded.one(f"{ML}:Workspace").inputs["publicNetworkAccess"] == "Disabled"
    assert recorded.of_type("azure-native:network:PrivateEndpoint") == []


def test_the_address_of_a_private_workspace_goes_into_the_zones_that_are_there() -> None:
    recorded = declared(network="private", private_endpoint={"subnet_id": "/b", "private_dns_zones": ZONES})
    endpoint, group = (
        recorded.one("azure-native:network:PrivateEndpoint"),
        recorded.one("azure-native:network:PrivateDnsZoneGroup"),
    )
    assert (group.inputs["privateEndpointName"], group.inputs["privateDnsZoneGroupName"]) == (
        endpoint.inputs["privateEndpointName"],
        "default",
    )
    assert [each["privateDnsZoneId"] for each in group.inputs["privateDnsZoneConfigs"]] == ZONES
    assert group.deleted_with == endpoint.urn
    of_output = declared(
        network="private", private_endpoint={"subnet_id": "/b", "private_dns_zones": [pulumi.Output.from_input("/z")]}
    )
    assert (
        of_output.one("azure-native:network:PrivateDnsZoneGroup").inputs["privateDnsZoneConfigs"][0]["privateDnsZoneId"] == "/z"
    )
    without = declared(network="private", private_endpoint={"subnet_id": "/b"})
    assert without.of_type("azure-native:network:PrivateDnsZoneGroup") == []
    [warned] = problems_of({"network": Network.PRIVATE, "private_endpoint": {"subnet_id": "/b"}}, "w")
    assert (warned.path, warned.severity) == ("w.private_endpoint.private_dns_zones", Severity.WARNING)


def test_an_environment_may_be_called_otherwise_than_its_key() -> None:
    args = {"version": "1", "image": CUDA}
    recorded = declared(environments={"own": args, "theirs": {**args, "environment_name": "cuda"}})
    assert named(recorded, "ml-environment-own").inputs["name"] == "own"
    assert named(recorded, "ml-environment-theirs").inputs["name"] == "cuda"


def test_of_a_cluster_that_exists_nobody_knows_how_many_gpus_a_pod_may_have() -> None:
    theirs: ClusterOfWorkspace = {**CLUSTERS["shared"], "existing": True}
    assert list(gpu_problems({"large": 8}, theirs, "here")) == []
    [problem] = gpu_problems({"large": 8, "none": 0}, CLUSTERS["shared"], "here")
    assert problem.path.startswith("here")
