"""Which kind of object a resource is, and which resources this plugin refuses by name."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from localazure.plugin.installation import how_to_have

# Kubernetes' own groups; other groups come from CustomResourceDefinitions or aggregated servers.
BUILT_IN_GROUPS = frozenset(
    {
        "", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps",
        "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io",
        "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io",
        "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
    }
)  # fmt: skip

# Of those groups, what lives in no namespace (`kubectl api-resources --namespaced=false` of 1.36, and kinds of older versions).
_CLUSTER_WIDE = frozenset(
    {
        "APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding",
        "ClusterTrustBundle", "ComponentStatus", "CustomResourceDefinition", "DeviceClass", "DeviceTaintRule",
        "FlowSchema", "IPAddress", "IngressClass", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume", "PriorityClass",
        "PriorityLevelConfiguration", "ResourceSlice", "RuntimeClass", "SelfSubjectAccessReview", "SelfSubjectReview",
        "SelfSubjectRulesReview", "ServiceCIDR", "StorageClass", "StorageVersion", "StorageVersionMigration",
        "SubjectAccessReview", "TokenReview", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration", "VolumeAttachment", "VolumeAttributesClass",
    }
)  # fmt: skip


class Kind(NamedTuple):
    """What the API calls a group, version and kind."""

    group: str  # "" is the core group
    version: str
    name: str

    @classmethod
    def of(cls, api_version: str, name: str) -> "Kind":
        group, _, version = api_version.rpartition("/")
        return cls("" if group == "core" else group, version, name)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def built_in(self) -> bool:
        return self.group in BUILT_IN_GROUPS

    @property
    def namespaced(self) -> bool | None:
        """None: only a server that has the kind knows."""
        return self.name not in _CLUSTER_WIDE if self.built_in else None

    def __str__(self) -> str:
        return f"{self.api_version}/{self.name}"


def token_of(urn: str) -> str:
    return urn.split("::")[-2].split("$")[-1]


def kind_of(token: str, inputs: Mapping[str, Any]) -> Kind:
    """The inputs' apiVersion and kind, as the SDK always sets them; an import has the token alone. LookupError: refused."""
    refused = _refusal(token, inputs)
    if refused:
        raise LookupError(refused)
    api_version, name = inputs.get("apiVersion"), inputs.get("kind")
    if not (isinstance(api_version, str) and isinstance(name, str)):
        _, api_version, name = token.split(":", 2)
    return Kind.of(api_version, name)


def _refusal(token: str, inputs: Mapping[str, Any]) -> str:
    parts = token.split(":")
    if len(parts) != 3 or parts[0] != "kubernetes":
        return f"'{token}' isn't a resource type of the provider kubernetes"
    module, name = parts[1], parts[2]
    what = ""
    if module.startswith("helm.sh") or module == "helm":
        what = "Helm"
    elif module.startswith("yaml"):
        what = "YAML files"
    elif module.startswith("kustomize"):
        what = "Kustomize"
    elif name.endswith("Patch") and inputs.get("kind") != name:
        what = "a patch of an object that others own"
    if what:
        return (
            f"the resource type '{token}' ({what}) is not implemented by this stand-in of pulumi-kubernetes; "
            f"{how_to_have('kubernetes')}"
        )
    if name.endswith("List") and module.split("/")[0].removeprefix("core") in BUILT_IN_GROUPS:
        return (
            f"'{token}': lists exist for YAML manifests and Helm charts and cannot be created directly; "
            "use the type of what is in them"
        )
    return ""
