"""Sources of the rules that are neither in the catalog nor in `rules.tsv`.

Meanings of properties come from the provider's descriptions, which are those of Azure's API specifications. Pages of Microsoft
have their publication date.
"""

from azure_gpu.catalog.sources import Source, observed


def _property(of: str) -> Source:
    return observed(f"pulumi-azure-native 3.29.0, {of}", 2026, 11, 26)


GROUP_VARIABLE = _property("containerinstance ContainerGroup, environmentVariables.secureValue")
GROUP_REGISTRY = _property("containerinstance ContainerGroup, imageRegistryCredentials.identity")
ML_REMOTE_LOGIN = _property("machinelearningservices Compute, remoteLoginPortPublicAccess")
ML_SCALE = _property("machinelearningservices Compute, scaleSettings")
ML_ENDPOINT_NETWORK = _property("machinelearningservices OnlineEndpoint, publicNetworkAccess")
ML_WORKSPACE_NETWORK = _property("machinelearningservices Workspace, publicNetworkAccess")
APP_INGRESS = _property("app ContainerApp, ingress.external and ipSecurityRestrictions")
APP_SECRET = _property("app Job and ContainerApp, env.secretRef")
APP_REGISTRY = _property("app Job and ContainerApp, registries.identity")
APP_PROFILE = _property("app ManagedEnvironment, workloadProfiles.minimumCount")
STORAGE_NETWORK = _property("storage StorageAccount, publicNetworkAccess and networkRuleSet.defaultAction")
REGISTRY_NETWORK = _property("containerregistry Registry, publicNetworkAccess and networkRuleSet.defaultAction")
# That an account without a list has all modes is assumed; the embedded Azure does the same.
BATCH_KEYS = _property("batch BatchAccount, allowedAuthenticationModes; all of them where none is named is assumed")
BATCH_NETWORK = _property("batch BatchAccount, publicNetworkAccess and networkProfile.accountAccess")
BATCH_SCALE = _property("batch Pool, scaleSettings")
BATCH_VARIABLE = _property("batch Pool, startTask.environmentSettings")
BATCH_REGISTRY = _property("batch Pool, containerRegistries.identityReference")
NODE_POOL_SCALE = _property("containerservice AgentPool, enableAutoScaling, minCount and maxCount")
LINUX_PASSWORD = _property("compute VirtualMachine, linuxConfiguration.disablePasswordAuthentication")

ML_SECRETS = observed("Microsoft Learn, machine-learning/how-to-deploy-online-endpoint-with-secret-injection", 2023, 10, 25)
POD_STANDARDS = observed("Kubernetes, concepts/security/pod-security-standards, baseline, in public copies", 2026, 11, 26)
POD_SECRETS = observed("Kubernetes, API v1 of core, EnvVarSource.secretKeyRef", 2026, 11, 26)
POD_GPUS = observed("Kubernetes, tasks/manage-gpus/scheduling-gpus, in public copies", 2026, 11, 26)
VISIBLE_DEVICES = observed("NVIDIA/k8s-device-plugin issue 87, a known limitation of the device plugin's API", 2019, 1, 6)
