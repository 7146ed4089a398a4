"""Types that stand beside those that the program declares, and are kept and shown: what is made around a stack can be made here.

Tokens and names in paths are those of pulumi-azure-native 3.29, as in `azure_gpu.formats.azure_types`.
"""

from azure_gpu.formats.azure_types import AzureType

_GROUP = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}"


def _in_group(token: str, arm_type: str, *names: str) -> AzureType:
    namespace, *kinds = arm_type.split("/")
    steps = "".join(f"/{kind}/{{{name}}}" for kind, name in zip(kinds, names, strict=True))
    return AzureType(f"azure-native:{token}", arm_type, f"{_GROUP}/providers/{namespace}{steps}")


_ACCOUNT = "Microsoft.Storage/storageAccounts"
QUEUE_SERVICE = _in_group("storage:QueueServiceProperties", f"{_ACCOUNT}/queueServices", "accountName", "queueServiceName")
TABLE_SERVICE = _in_group("storage:TableServiceProperties", f"{_ACCOUNT}/tableServices", "accountName", "tableServiceName")
FILE_SERVICE = _in_group("storage:FileServiceProperties", f"{_ACCOUNT}/fileServices", "accountName", "fileServicesName")
QUEUE = _in_group("storage:Queue", f"{_ACCOUNT}/queueServices/queues", "accountName", "queueServiceName", "queueName")
TABLE = _in_group("storage:Table", f"{_ACCOUNT}/tableServices/tables", "accountName", "tableServiceName", "tableName")
FILE_SHARE = _in_group("storage:FileShare", f"{_ACCOUNT}/fileServices/shares", "accountName", "fileServicesName", "shareName")
MANAGEMENT_POLICY = _in_group("storage:ManagementPolicy", f"{_ACCOUNT}/managementPolicies", "accountName", "managementPolicyName")
REPLICATION = _in_group(
    "containerregistry:Replication", "Microsoft.ContainerRegistry/registries/replications", "registryName", "replicationName"
)
SECURITY_RULE = _in_group(
    "network:SecurityRule",
    "Microsoft.Network/networkSecurityGroups/securityRules",
    "networkSecurityGroupName",
    "securityRuleName",
)
# What Azure makes beside a component of Application Insights.
ALERT_RULE = _in_group(
    "alertsmanagement:SmartDetectorAlertRule", "microsoft.alertsManagement/smartDetectorAlertRules", "alertRuleName"
)
ACTION_GROUP = _in_group("monitor:ActionGroup", "microsoft.insights/actionGroups", "actionGroupName")
