"""What Azure Container Instances is known to do with GPUs beyond what its rules decide by.

`FACTS`, for the documentation and for the parts that imitate or wait for the service.
"""

from datetime import date

from azure_gpu.catalog.facts import Fact
from azure_gpu.catalog.services.container_instances import FIRST_PAGE, LAST_PAGE
from azure_gpu.catalog.sources import Dated, Source

_LIMITS = Source("Microsoft Learn, includes/container-instances-gpu-limits", Dated.OBSERVED, date(2025, 11, 17))
_NOTICE = Source(
    "Microsoft Learn, container-instances/container-instances-gpu, the version of 2023", Dated.OBSERVED, date(2023, 8, 31)
)
_PROVIDER = Source("pulumi-azure-native 3.29.0", Dated.OBSERVED, date(2026, 11, 20))
_TERRAFORM = Source("hashicorp/terraform-provider-azurerm, azurerm_container_group", Dated.OBSERVED, date(2026, 11, 20))

TIME_TO_DEPLOY = Fact("time to deploy", "up to 8 to 10 minutes, because a GPU machine is prepared", FIRST_PAGE)
BILLED_TIME = Fact("billed time", "from the first image pull until the group ends; not the time before it", FIRST_PAGE)

FACTS: tuple[Fact, ...] = (
    Fact("storage", "50 GB in a group with a GPU", _LIMITS),
    TIME_TO_DEPLOY,
    BILLED_TIME,
    Fact("default quota", "no V100 cores; a support request raises it", LAST_PAGE),
    Fact("Azure's own successor", "AKS; no page of the service names Container Apps", _NOTICE),
    Fact(
        "base images for CUDA 9.0",
        "nvidia/cuda:9.0-base-ubuntu16.04 and tensorflow/tensorflow:1.12.0-gpu-py3, as examples",
        FIRST_PAGE,
    ),
    Fact(
        "first sample",
        "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1 on one K80 with 1 CPU and 1.5 GB, Linux, restarted on failure",
        FIRST_PAGE,
    ),
    Fact("second sample", "training on MNIST with TensorFlow on one V100 with 4 CPU and 12 GB", FIRST_PAGE),
    Fact("API version of the first samples", "2018-10-01", FIRST_PAGE),
    Fact("MNIST image of the first samples", "microsoft/samples-tf-mnist-demo:gpu", FIRST_PAGE),
    Fact("MNIST image later", "mcr.microsoft.com/azuredocs/samples-tf-mnist-demo:gpu", LAST_PAGE),
    Fact("GPU SKUs in the API", "K80, P100 and V100 are still in the enumeration; the provider rejects none", _PROVIDER),
    Fact("place of a GPU in the API", "resources.requests.gpu and resources.limits.gpu, each with count and sku", _PROVIDER),
    Fact("API version", "2024-05-01-preview, the provider's default", _PROVIDER),
    Fact(
        "other API versions of the provider",
        "2023-05-01, 2024-09-01-preview, 2024-10-01-preview, 2024-11-01-preview, 2025-09-01, 2026-06-01-preview, 2026-07-01, "
        "2026-08-01-preview",
        _PROVIDER,
    ),
    Fact("Terraform", "its azurerm provider calls the gpu block deprecated", _TERRAFORM),
)
