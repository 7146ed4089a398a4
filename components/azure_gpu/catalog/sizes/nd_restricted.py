"""Sizes of the ND line that no public page offers: a subscription has them by agreement or not at all.

`ROWS`. All of them are known from one list of the AKS node provisioner, which names sizes and families. GPU
model, count and memory are those of the public sibling that the name points to, InfiniBand is the `r` of the name: both are
inferred.
"""

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sizes import gpus
from azure_gpu.catalog.sizes.model import Gpu, Series
from azure_gpu.catalog.sizes.rows import CUDA, KARPENTER_GPUS, size

_INFERRED = "GPU model, count and memory are inferred from the public sibling, InfiniBand from the name"


def _series(name: str, gpu: Gpu, quota_family: str) -> Series:
    return Series(
        name=name,
        gpu=gpu,
        drivers=CUDA,
        quota_family=quota_family,
        lifecycle=Lifecycle(seen=KARPENTER_GPUS),
        restricted=True,
        note=_INFERRED,
        sources=(KARPENTER_GPUS,),
    )


NDASR_A100 = _series("NDasrA100_v4 (restricted)", gpus.A100_40, "Standard NDASv4_A100 Family")
NDM_A100 = _series("NDm_A100_v4 (restricted)", gpus.A100_80, "standard NDAMSv4_A100Family")
NDM_A100_NO_RDMA = _series("NDm_A100_v4 (no RDMA)", gpus.A100_80, "standardNDAMSv4A100noRDMAFamily")
NDM_A100_FLEX = _series("NDm_A100_v4 flex", gpus.A100_80, "standardNDAMSFv4_A100Family")
ND_H100_NO_RDMA = _series("ND_H100_v5 (no RDMA)", gpus.H100, "standardNDSH100v5Family")
ND_H100_FLEX = _series("ND_H100_v5 flex", gpus.H100, "standardNDSFH100v5Family")
ND_H200_NO_RDMA = _series("ND_H200_v5 (no RDMA)", gpus.H200, "standardNDSH200v5Family")
ND_H200_FLEX = _series("ND_H200_v5 flex", gpus.H200, "standardNDSFH200v5Family")

ROWS = (
    size(NDASR_A100, "Standard_ND112asr_A100_v4", 112, None, gpus=8, gpu_memory=320, rdma=True),
    size(NDASR_A100, "Standard_ND120asr_A100_v4", 120, None, gpus=8, gpu_memory=320, rdma=True),
    size(NDM_A100, "Standard_ND112amsr_A100_v4", 112, None, gpus=8, gpu_memory=640, rdma=True),
    size(NDM_A100, "Standard_ND120amsr_A100_v4", 120, None, gpus=8, gpu_memory=640, rdma=True),
    size(NDM_A100_NO_RDMA, "Standard_ND96ams_A100_v4", 96, None, gpus=8, gpu_memory=640),
    size(NDM_A100_NO_RDMA, "Standard_ND96ams_v4", 96, None, gpus=8, gpu_memory=640),
    size(NDM_A100_NO_RDMA, "Standard_ND96ams_A100_flex_v4", 96, None, gpus=8, gpu_memory=640),
    size(NDM_A100_NO_RDMA, "Standard_ND96amsf_A100_v4", 96, None, gpus=8, gpu_memory=640),
    size(NDM_A100_FLEX, "Standard_ND96amsrf_A100_v4", 96, None, gpus=8, gpu_memory=640, rdma=True),
    size(ND_H100_NO_RDMA, "Standard_ND96is_H100_v5", 96, None, gpus=8, gpu_memory=640),
    size(ND_H100_NO_RDMA, "Standard_ND96is_noib_H100_v5", 96, None, gpus=8, gpu_memory=640),
    size(ND_H100_NO_RDMA, "Standard_ND96is_flex_H100_v5", 96, None, gpus=8, gpu_memory=640),
    size(ND_H100_FLEX, "Standard_ND96isf_H100_v5", 96, None, gpus=8, gpu_memory=640),
    size(ND_H100_FLEX, "Standard_ND96isrf_H100_v5", 96, None, gpus=8, gpu_memory=640, rdma=True),
    size(ND_H200_NO_RDMA, "Standard_ND96is_H200_v5", 96, None, gpus=8, gpu_memory=1128),
    size(ND_H200_FLEX, "Standard_ND96isf_H200_v5", 96, None, gpus=8, gpu_memory=1128),
    size(ND_H200_FLEX, "Standard_ND96isrf_H200_v5", 96, None, gpus=8, gpu_memory=1128, rdma=True),
)
