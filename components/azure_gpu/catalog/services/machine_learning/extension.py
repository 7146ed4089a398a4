"""The extension Microsoft.AzureML.Kubernetes: its settings, and the taints that its pods tolerate."""

from typing import NamedTuple

from azure_gpu.catalog.sources import observed

EXTENSION_TYPE = "Microsoft.AzureML.Kubernetes"
PAGE = observed("Microsoft Learn, machine-learning/how-to-deploy-kubernetes-extension", 2025, 3, 7)

ROUTER_REPLICAS = 3  # of a highly available router, on separate nodes
LEAST_VCPUS = 4
_SERVICES = ("loadBalancer", "nodePort", "clusterIP")
_TRUTH = ("True", "False")


class Setting(NamedTuple):
    """One configuration setting. `default` and values are text, as the extension takes them."""

    name: str
    allowed: tuple[str, ...]  # in any letter case, as the page itself mixes them; empty: any text
    default: str  # empty: none
    meaning: str
    protected: bool = False


SETTINGS: tuple[Setting, ...] = (
    Setting("enableTraining", _TRUTH, "False", "training jobs and batch scoring"),
    Setting("enableInference", _TRUTH, "False", "online endpoints"),
    Setting(
        "inferenceRouterServiceType",
        ("loadBalancer", "nodePort", "clusterIP"),
        "",
        "how the router is reached; needed for inference",
    ),
    Setting("allowInsecureConnections", _TRUTH, "False", "HTTP instead of HTTPS, for development"),
    Setting("sslCname", (), "", "the name in the certificate; needed without allowInsecureConnections"),
    Setting("sslSecret", (), "", "a Kubernetes secret in the namespace azureml with cert.pem and key.pem"),
    Setting("sslCertPemFile", (), "", "the certificate", protected=True),
    Setting("sslKeyPemFile", (), "", "its key, without a pass phrase", protected=True),
    Setting("inferenceRouterHA", _TRUTH, "True", "three replicas of the router, which need three nodes"),
    Setting("internalLoadBalancerProvider", ("azure",), "", "an internal load balancer, on AKS only"),
    Setting("installNvidiaDevicePlugin", _TRUTH, "False", "NVIDIA's device plugin"),
    Setting("installDcgmExporter", _TRUTH, "False", "GPU metrics"),
    Setting("installPromOp", _TRUTH, "True", "its own Prometheus operator"),
    Setting("installVolcano", _TRUTH, "True", "its own Volcano scheduler"),
)

TOLERATED = ("ml.azure.com/amlarc", "ml.azure.com/amlarc-workload")  # with the value true and any effect
OF_SCOPES = ("ml.azure.com/resource-group", "ml.azure.com/workspace", "ml.azure.com/compute")  # with the scope's name as value


def tolerated(taint: str) -> bool:
    """Whether jobs and deployments tolerate it. A name as value is assumed to be that of their scope."""
    key, _, value = taint.rpartition(":")[0].partition("=")
    return (key in TOLERATED and value == "true") or key in OF_SCOPES or taint.endswith(":PreferNoSchedule")
