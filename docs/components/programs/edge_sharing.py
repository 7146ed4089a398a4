import pulumi

from azure_gpu import EdgeSharing

kubeconfig = pulumi.Config().require_secret("kubeconfig")
edge = EdgeSharing(
    "box",
    kubeconfig=kubeconfig,
    namespace="vision",
    device={"model": "Pro GPU", "gpu": "T4"},
    jobs={"adds": {"image": "registry.example/cuda-vector-add:v0.1", "visible_devices": "0"}},
)
pulumi.export("namespace", edge.namespace)
