"""The parts of the weather, each with its evidence. Only data; docs/weather.md is made of it.

`rough`: part of rough weather, because every subscription meets it; the others are what some subscriptions have, or what happens
now and then, and are turned on one by one. Ranks of evidence: recorded (an answer of Azure in a recorded session), documented (a
page of Microsoft's, or an answer that users quote in a public thread), assumed (nobody has shown it; the reason is in `what`).
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

Rank = Literal["recorded", "documented", "assumed"]


class Source(NamedTuple):
    """Where something was read."""

    text: str
    day: str  # YYYY-MM-DD, or YYYY-MM; of the source, or on which it was read
    rank: Rank


class Part(NamedTuple):
    """One part of the weather."""

    name: str
    what: str
    here: str  # how long, or how much, in this Azure
    there: str  # and in the real one
    rough: bool
    sources: tuple[Source, ...]
    seconds: float = 0.0  # how long it lasts here; 0: for as long as it holds


NEW_PRINCIPALS = "new-principals"
ROLE_DELAY = "role-delay"
WILDCARD_REVIEWS = "wildcard-reviews"
OWNER_WITHOUT_DATA = "owner-without-data"
ENDPOINT_ROLES = "endpoint-roles"
SLOW_OPERATIONS = "slow-operations"
POOL_CONFLICTS = "pool-conflicts"
ENDPOINT_CONFLICTS = "endpoint-conflicts"
NETWORK_CONFLICTS = "network-conflicts"
RESERVED_INTERFACES = "reserved-interfaces"
BATCH_QUOTA = "batch-quota"
WHOLE_POOLS = "whole-pools"
ENVIRONMENT_QUOTA = "environment-quota"
POOL_COUNT = "pool-count"
PRIVATE_CLUSTERS = "private-clusters"
PRIVATE_ENDPOINTS = "private-endpoints"
NO_WAY_OUT = "no-way-out"
TASK_RUN_ADDRESS = "task-run-address"
UNREGISTERED_INSIGHTS = "unregistered-insights"
DELETED_LOGS = "deleted-logs"
THROTTLING = "throttling"
OWN_ACTS = "own-acts"
TASKS_NOT_ALLOWED = "tasks-not-allowed"
DOCKER_HUB_LIMIT = "docker-hub-limit"
REGISTRY_ERROR = "registry-error"
ABAC_REGISTRIES = "abac-registries"
LANDING_ZONE = "landing-zone"

_TROUBLESHOOTING = "Microsoft Learn, role-based-access-control/troubleshooting"

_ALL = (
    Part(
        NEW_PRINCIPALS,
        "The principal of a new identity isn't found by a role assignment at first, which is refused with 400 "
        "`PrincipalNotFound`, unless the assignment sets `principalType`.",
        "4 s",
        "up to some minutes; five refusals in a row were recorded",
        True,
        (
            Source(
                "Azure Service Operator, recording Test_Authorization_RoleAssignment_OnResourceGroup_CRUD",
                "2024-06-11",
                "recorded",
            ),
            Source(_TROUBLESHOOTING, "2026-11-24", "documented"),
        ),
        4.0,
    ),
    Part(
        ROLE_DELAY,
        "A role assignment is there at once and works later: for data of blobs, for pulls of images, for scoring, and for "
        "reviews of Azure RBAC for Kubernetes. A refusal meanwhile is remembered, and prolongs the delay for the same "
        "question. A node of Batch and an instance of a managed endpoint take longer to start, so that they don't meet it: "
        "this is assumed.",
        "5 s, and 3 s more from each refusal",
        "up to 10 minutes; a cluster remembers a refusal for 3 minutes in its webhook and 5 in its API server",
        True,
        (
            Source(_TROUBLESHOOTING, "2026-11-24", "documented"),
            Source("MicrosoftDocs/azure-aks-docs fb060abe, articles/aks/entra-id-authorization.md", "2026-08-21", "documented"),
            Source("kubeguard/guard 5bcf8b53, authz/providers/azure/azure.go", "2026-11", "documented"),
        ),
        5.0,
    ),
    Part(
        WILDCARD_REVIEWS,
        "A review of Azure RBAC for Kubernetes that asks for every verb, resource or group (`*`) is refused, whatever role "
        "one has. That AKS has this switch of its webhook off, as it is by default, is assumed.",
        "always",
        "always",
        True,
        (Source("kubeguard/guard 5bcf8b53, authz/providers/azure/rbac/checkaccessreqhelper.go", "2026-11", "assumed"),),
    ),
    Part(
        OWNER_WITHOUT_DATA,
        "Whoever deploys owns the subscription and may not read or write blobs before he has a role for data.",
        "always",
        "always",
        True,
        (
            Source(
                "Microsoft Learn, role-based-access-control/built-in-roles (Owner has no dataActions)", "2026-04-09", "documented"
            ),
        ),
    ),
    Part(
        ENDPOINT_ROLES,
        "An online endpoint with a system-assigned identity gets three role assignments automatically: AcrPull and "
        "Storage Blob Data Reader on what belongs to its workspace, AzureML Metrics Writer on the workspace. The same "
        "assignment by somebody else is then 409 `RoleAssignmentExists`.",
        "at once",
        "at once",
        True,
        (
            Source(
                "MicrosoftDocs/azure-ai-docs, concept-endpoints-online-auth.md, Automatic role assignment for endpoint identity",
                "2026-11",
                "documented",
            ),
        ),
    ),
    Part(
        SLOW_OPERATIONS,
        "A change of a cluster, of its pools, of an environment of Container Apps and of an online endpoint takes a while, "
        "so that what depends on it meets one that isn't ready, such as `ManagedEnvironmentNotProvisioned`.",
        "2 s",
        "2 to 20 minutes",
        True,
        (Source("Azure Service Operator, recording Test_App_v1api20250101_CreationAndDeletion", "2026-04-02", "recorded"),),
        2.0,
    ),
    Part(
        POOL_CONFLICTS,
        "While one pool of a cluster is being changed, a change of another is refused with 409 `OperationNotAllowed`.",
        "as long as the first operation",
        "as long as the first operation: 2 to 20 minutes",
        True,
        (
            Source("cilium/cilium issue 25944", "2023-06-06", "documented"),
            Source(
                "Azure/terraform-azurerm-avm-res-containerservice-managedcluster pull request 160", "2026-02-24", "documented"
            ),
        ),
    ),
    Part(
        ENDPOINT_CONFLICTS,
        "While an online endpoint or one of its deployments is being changed, another change of either is refused with 409. "
        "The sentence for a deployment is one that users quote; its status is assumed.",
        "as long as the first operation",
        "as long as the first operation: 5 to 20 minutes",
        True,
        (
            Source("Azure/azure-sdk-for-net issue 36961", "2023-06-12", "documented"),
            Source("Microsoft Learn, machine-learning/how-to-troubleshoot-online-endpoints, 409", "2026-11", "documented"),
        ),
    ),
    Part(
        NETWORK_CONFLICTS,
        "A network interface that names what is being changed is refused with 429 `RetryableError`, "
        "`ReferencedResourceNotProvisioned` among its details. Networks, subnets and addresses take a moment, where their "
        "types are made in the background.",
        "1 s",
        "some seconds",
        True,
        (
            Source("Azure Service Operator, recording Test_MachineLearning_Workspaces_20240401_CRUD", "2025-04-01", "recorded"),
            Source("Azure/azure-libraries-for-net issue 1001", "2020-03-10", "documented"),
        ),
        1.0,
    ),
    Part(
        RESERVED_INTERFACES,
        "The network interface of a machine that found no capacity stays reserved for it: deleting the interface is refused "
        "with 400 `NicReservedForAnotherVm`, also after the machine was deleted.",
        "6 s",
        "180 s",
        True,
        (
            Source("gardenlinux/gardenlinux issue 4133", "2026-01-08", "documented"),
            Source("Azure/karpenter-provider-azure issue 92", "2024-01-17", "documented"),
            Source("cloudfoundry/bosh-azure-cpi-release issue 366", "2022-07-05", "documented"),
        ),
        6.0,
    ),
    Part(
        BATCH_QUOTA,
        "A new Batch account has no vCPUs of families with GPUs. The quota belongs to the account and goes with it; a "
        "support request (`Microsoft.Support/supportTickets`) raises it.",
        "a request is granted after 5 s",
        "a request takes hours to days",
        True,
        (
            Source("Microsoft Learn, batch/batch-quota-limit", "2026-11-24", "documented"),
            Source("Microsoft Learn, rest/api/support/quota-payload, Azure Batch", "2026-11-24", "documented"),
        ),
        5.0,
    ),
    Part(
        ENVIRONMENT_QUOTA,
        "A new environment of Container Apps has no GPUs on demand: replicas of its jobs wait. The quota belongs to the "
        "environment and goes with it; a support request raises it. What the payload of that request says is assumed.",
        "a request is granted after 5 s",
        "a request takes minutes to days; enterprise and pay-as-you-go subscriptions may have GPUs from the start",
        True,
        (
            Source("Microsoft Learn, container-apps/quotas", "2026-09-23", "documented"),
            Source("MicrosoftDocs/azure-docs, articles/container-apps/quota-requests.md", "2025-04-29", "documented"),
        ),
        5.0,
    ),
    Part(
        POOL_COUNT,
        "A pool of a cluster whose body has no `count` gets one node, also where the autoscaler is on and its least is "
        "another: with `minCount` 0 a node starts, with 2 the pool is refused.",
        "until the autoscaler takes the node away",
        "about 20 minutes until the autoscaler takes the node away",
        True,
        (
            Source(
                "Microsoft Learn, REST reference of Microsoft.ContainerService 2025-09-01, Agent Pools", "2026-11", "documented"
            ),
            Source("MicrosoftDocs/azure-aks-docs fb060abe, articles/aks/create-node-pools.md", "2026-08-21", "documented"),
        ),
    ),
    Part(
        PRIVATE_CLUSTERS,
        "The kubeconfig of a private cluster names an address that only its network knows: nothing answers from outside.",
        "always",
        "always",
        True,
        (Source("MicrosoftDocs/azure-aks-docs fb060abe, articles/aks/private-clusters.md", "2026-08-21", "documented"),),
    ),
    Part(
        PRIVATE_ENDPOINTS,
        "What has `publicNetworkAccess: Disabled` doesn't answer from outside: blobs with 403 `AuthorizationFailure`, an "
        "online endpoint with 403. Inside is what runs on this Azure, which isn't told apart here, so nothing reaches it at "
        "all.",
        "always",
        "always, for what isn't in the network",
        True,
        (
            Source("microsoft/AzureStorageExplorer issue 8769", "2025-10-02", "documented"),
            Source(
                "MicrosoftDocs/azure-docs, articles/machine-learning/how-to-secure-online-endpoint.md", "2023-09-28", "documented"
            ),
        ),
    ),
    Part(
        NO_WAY_OUT,
        "A container group in a subnet without a NAT gateway reaches nothing outside: an image of the internet can't be "
        "pulled, and programs meet a proxy that isn't there. That images of a registry of Azure come all the same is "
        "assumed.",
        "always",
        "always",
        True,
        (
            Source(
                "Microsoft Learn, container-instances/container-instances-virtual-network-concepts", "2026-07-25", "documented"
            ),
        ),
    ),
    Part(
        TASK_RUN_ADDRESS,
        "The address that tells how a task run of a registry goes has `operationStatuses/<id>` twice, and is 404.",
        "always",
        "always, as two open issues have it; some projects have had no trouble with it",
        True,
        (
            Source("pulumi/pulumi-azure-native issue 1713, open", "2022-05-16", "documented"),
            Source("Azure/azure-rest-api-specs issue 19159, open", "2022-05-20", "documented"),
        ),
    ),
    Part(
        UNREGISTERED_INSIGHTS,
        "A diagnostic setting is refused with 409, in a body without ARM's envelope, until the subscription is registered "
        "with `az provider register --namespace microsoft.insights`. Clients that register by themselves don't know this "
        "answer.",
        "until it is registered",
        "until it is registered: a minute",
        True,
        (
            Source("Azure/azure-rest-api-specs issue 12060", "2020-12-10", "documented"),
            Source("pulumi/pulumi-azure-native issue 3479, open", "2024-08-01", "documented"),
        ),
    ),
    Part(
        DELETED_LOGS,
        "A workspace of logs that was deleted keeps its name in its resource group for 14 days: one of that name in the "
        "same region is the old one, recovered, and in another region is refused with 409. Deleted key vaults and "
        "workspaces of Azure ML keep their names in calm weather too.",
        "14 days of `fault clock`",
        "14 days",
        True,
        (
            Source("Microsoft Learn, rest/api/loganalytics/workspaces/delete", "2026-11-24", "documented"),
            Source("MicrosoftDocs/azure-docs issue 41719", "2026-11-24", "documented"),
        ),
    ),
    Part(
        THROTTLING,
        "Resource Manager takes so many requests at once, and then so many a second: beyond them 429 "
        "`SubscriptionRequestsThrottled` with `Retry-After`. Reads: 250, then 25 a second; writes and deletes: 200, then 10 "
        "a second.",
        "the same numbers",
        "the same numbers, for each subscription, region and principal",
        True,
        (Source("Microsoft Learn, azure-resource-manager/management/request-limits-and-throttling", "2026-11-24", "documented"),),
    ),
    Part(
        OWN_ACTS,
        "Services change what they have: a cluster with an upgrade channel takes a newer patch of its version and its nodes "
        "a newer image; an autoscale setting lifts a deployment to its least number of instances; beside a component of "
        "Application Insights come an alert rule and an action group, which stay when it is deleted. That a newer patch is "
        "always there is assumed.",
        "3 s after a change",
        "minutes to a week",
        True,
        (
            Source("MicrosoftDocs/azure-aks-docs fb060abe, articles/aks/auto-upgrade-cluster.md", "2026-08-21", "documented"),
            Source("Microsoft Learn, azure-monitor/autoscale/autoscale-understanding-settings", "2026-11", "documented"),
            Source("hashicorp/terraform-provider-azurerm issues 10563 and 18026", "2023-08-28", "documented"),
        ),
        3.0,
    ),
    Part(
        TASKS_NOT_ALLOWED,
        "A registry builds nothing: `scheduleRun` and task runs are refused with 400 `TasksOperationsNotAllowed`.",
        "until it is turned off",
        "until support lifts it; free trials and some new subscriptions",
        False,
        (
            Source("Azure-Samples/azure-search-openai-demo issue 2220", "2024-12-10", "documented"),
            Source("microsoft-foundry-for-vscode issues 516 and 549", "2026-04", "documented"),
        ),
    ),
    Part(
        DOCKER_HUB_LIMIT,
        "A build of a registry that starts from an image of Docker Hub fails: `toomanyrequests`. Its address is shared with "
        "others.",
        "until it is turned off",
        "up to 6 hours, now and then",
        False,
        (
            Source("MicrosoftLearning/mslearn-azure-ai issue 125", "2026-03-26", "documented"),
            Source("Azure-Samples/azure-search-openai-demo issue 3101", "2026-06-18", "documented"),
        ),
    ),
    Part(
        REGISTRY_ERROR,
        "A container group with an image of Docker Hub is refused with 409 `RegistryErrorResponse`.",
        "until it is turned off",
        "minutes to hours, now and then",
        False,
        (
            Source("Azure/azure-cli issue 29300", "2024-07-02", "documented"),
            Source("alan-turing-institute/data-safe-haven issue 1984", "2026-11", "documented"),
        ),
    ),
    Part(
        WHOLE_POOLS,
        "A PUT of a Batch pool that exists is refused with 400 `PropertyCannotBeUpdated`, because it names "
        "`networkConfiguration` or `deploymentConfiguration`, also where nothing of them differs. A PATCH without them isn't.",
        "until it is turned off",
        "told of by many from 2019 to 2023, also where nothing differed; by others it wasn't met",
        False,
        (
            Source("Azure/Batch issue 153", "2023-03-08", "documented"),
            Source("Azure/terraform-provider-azapi issue 263", "2023-03-01", "documented"),
            Source("hashicorp/terraform-provider-azurerm pull request 8189", "2020-08-20", "documented"),
        ),
    ),
    Part(
        ABAC_REGISTRIES,
        "Every registry is in the mode `AbacRepositoryPermissions`, which honours AcrPull and AcrPush no more; Container "
        "Registry Repository Reader is the role that may pull.",
        "until it is turned off",
        "for registries that were made so",
        False,
        (
            Source(
                "Microsoft Learn, container-registry/container-registry-rbac-abac-repository-permissions",
                "2026-11-24",
                "documented",
            ),
        ),
    ),
    Part(
        LANDING_ZONE,
        "Policies of a landing zone deny what has a public endpoint, subnets without a security group, and logins by keys, with "
        "403 `RequestDisallowedByPolicy`. The definitions are rows of `catalog/policies.csv`, each with its repository and "
        "commit; those about pods, and those that add or deploy something, aren't evaluated. That ids are of the subscription "
        "and not of a management group is assumed.",
        "until it is turned off",
        "for as long as they are assigned",
        False,
        (
            Source("Azure/Enterprise-Scale dbd9bd21, policySetDefinitions/Deny-PublicPaaSEndpoints", "2026-08-19", "documented"),
            Source("microsoft/vscode-apimanagement issue 348", "2024-03-15", "documented"),
        ),
    ),
)
PARTS: Mapping[str, Part] = {part.name: part for part in _ALL}
