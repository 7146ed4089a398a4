"""Facts about GPUs on Azure that aren't in the catalog, each with the reason.

Prices that were left out are facts about `prices.left_out`.
"""

from typing import NamedTuple


class LeftOut(NamedTuple):
    """One fact, or kind of fact."""

    what: str
    reason: str


LEFT_OUT: tuple[LeftOut, ...] = (
    # Sizes.
    LeftOut("sizes A10 and A11", "A8 and A9 without InfiniBand; they have no GPU"),
    LeftOut("promotional sizes of the H series", "retired with the series on 2022-08-31, and in no list of figures or prices"),
    LeftOut("Standard_ND40s_v2", "a preview without figures of its own, replaced by ND40rs_v2 in 2020; `NDv2` has a note"),
    LeftOut(
        "RTX PRO 6000 preview names that are only in price lists",
        "withdrawn before the sizes became general, and no page gives their figures",
    ),
    LeftOut("the GPU of Standard_ND40s_v3", "no source names it, so its drivers and AKS support are unknown"),
    LeftOut("which part of a GPU a size of NCads_A10_v4 has", "the SKU API reports whole GPUs, and no page has the series"),
    LeftOut("the day on which NVv2 retired", "no notice was found; the series is in doubt from the first source that doubts it"),
    LeftOut(
        "figures of the NVv3 sizes hs and ms and the NVv4 sizes ahs", "the retirement guides name them, and no page has the rest"
    ),
    LeftOut("memory of the restricted ND sizes", "no public page offers them, and the list that names them has no memory"),
    LeftOut("a page of Microsoft's with the figures of the RTX PRO 6000 sizes", "not found; they are those of a pricing feed"),
    LeftOut("quota families of HB and of ND128isrG5_GB300_v6", "no source names them; preflight compares with what Azure lists"),
    LeftOut("FPGAs of the NP series as accelerators", "FPGAs aren't GPUs; the series is listed to tell them apart"),
    # Container Instances and Container Apps.
    LeftOut(
        "most CPU and memory of a container group without a GPU in 2019", "the page only says that it is less than with a GPU"
    ),
    LeftOut("Container Instances, price of a GPU", "retired before prices were gathered"),
    LeftOut(
        "regions of Container Apps after 2026-03", "the table was read in a copy of that month; the service's own list is live"
    ),
    LeftOut(
        "dedicated, idle and request meters of Container Apps",
        "a serverless replica with a GPU isn't billed by them, and dedicated profiles have no price here",
    ),
    LeftOut(
        "Container Apps, price of a vCPU-second and a GiB-second", "no list with a day was found; refreshing the prices reads it"
    ),
    LeftOut(
        "a page that names Container Apps as successor of Container Instances' GPUs", "none was found; that it is, is inferred"
    ),
    # Batch and images.
    LeftOut(
        "verificationType and batchSupportEndOfLife of each Batch image",
        "only Batch's live list of images has them; the Batch team's notices give the ends that are here",
    ),
    LeftOut(
        "last days of the microsoft-azure-batch images and of CentOS-HPC on the Marketplace",
        "no source gives them; Batch drops the node agents that they take, and those days are here",
    ),
    LeftOut("whether Batch lists almalinux-hpc and azurelinux-hpc", "only its live list of images shows it"),
    LeftOut("the node agent of Azure Linux 3 in Batch", "Batch has one since 2025-04, and no source spells its name"),
    LeftOut(
        "whether Batch takes H200, MI300X, GB200 and GB300 sizes", "its tables end in 2021; its notice of 2024 names only H100"
    ),
    LeftOut(
        "a newer version of Batch's article of 2018 on GPUs and RDMA", "not found; its tables are applied as those of their day"
    ),
    LeftOut("$NodeDeallocationOption on Spot nodes of Batch", "no source says whether it applies to an evicted node"),
    LeftOut("the day to which the end of Batch's default outbound access was moved", "the notice that moves it gives none"),
    LeftOut("recipes of Batch Shipyard", "the project has stood still since 2023-03"),
    # Drivers and CUDA.
    LeftOut(
        "the first driver for each single GPU model", "NVIDIA gives it only for MIG; the first branch of a generation is used"
    ),
    LeftOut("drivers of CUDA 13.2 and later", "their release notes weren't read; newer drivers aren't rejected"),
    LeftOut("TensorFlow's images from 2.19 on", "TensorFlow's table of tested builds ends with 2.18"),
    # AKS.
    LeftOut(
        "A10 sizes on Azure Linux 3 in AKS",
        "a summary lists the systems of the other NVIDIA sizes for them; the list of Azure's node provisioner, used here, has "
        "only Ubuntu and Windows",
    ),
    LeftOut("whether Kubernetes 1.37 is general on AKS", "it was planned for 2026-10 in the last table that was read"),
    LeftOut("patch versions of Kubernetes on AKS", "they change each month; `az aks get-versions` shows those of a region"),
    LeftOut("the rest of the DCGM exporter's default counters", "unused by the dashboards and alerts here"),
    # Azure Machine Learning.
    LeftOut("sizes that managed endpoints added after their list", "possibly H200 and RTX PRO 6000; no page names them"),
    LeftOut(
        "whether the service still attaches machines as compute",
        "it is in the API and in samples; no page mentions it since 2024",
    ),
    LeftOut("plus-gpu-0.7.9, the other tag of Workbench's base image", "the article's text has it, its file plus-gpu-0.9.9"),
    LeftOut("CNTK itself", "no release since 2019; `import` names its wheels and the separate licence of 1-bit SGD"),
    LeftOut("FPGAs, which the article on inference links", "FPGAs aren't GPUs, and nothing here runs on one"),
    LeftOut(
        "ONNX, which it links, too",
        "the workload `scoring` serves TensorFlow's SavedModels; other kinds of models need a custom image",
    ),
    # Azure Stack Edge.
    LeftOut("size names of devices with an A2", "no page has them; a size has to match the device's GPU"),
    LeftOut("end of sale and of life of Stack Edge Pro GPU and Pro 2", "no notice was found"),
    LeftOut("the comment that begins with // in the sharing article's YAML", "invalid YAML"),
    # Virtual machines.
    LeftOut("the last day of the Data Science Virtual Machine", "no end is announced; no image newer than mid-2025 was seen"),
    # Prices.
    LeftOut(
        "the comparison of the two price lists",
        "of 190 prices in both, 173 are equal; the newer list is used, where NG V620 is 30 % cheaper",
    ),
    LeftOut("other versions of the older price list", "they have the same rows or fewer, and no date"),
    LeftOut("prices of reservations, savings plans and DevTest", "only pay-as-you-go and Spot are compared here"),
    LeftOut("prices of Windows machines", "sizes are compared by the Linux price; Windows adds its licence"),
    LeftOut("meterRegion='primary' in requests for prices", "it would drop the on-demand prices (inferred), so it isn't used"),
    LeftOut("the form of the price API's rows and pages", "documented with the client that reads them, in `operations`"),
    LeftOut("a recorded answer of the price API", "it is for a size without a GPU; the tests' server answers in the same form"),
    # Everything.
    LeftOut(
        "whether Azure Resource Manager rejects what is rejected here", "the rules follow documents; none was tried on Azure"
    ),
    LeftOut("regions that the articles of 2017 to 2019 use as examples", "examples, without information on other regions"),
)
