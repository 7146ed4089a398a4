"""What was read about GPUs on Azure and isn't in the catalog, each with the reason why not.

`LEFT_OUT`, for the documentation. Prices that were left out are facts about `prices.left_out`.
"""

from typing import NamedTuple


class LeftOut(NamedTuple):
    """One fact, or kind of fact."""

    what: str
    reason: str


LEFT_OUT: tuple[LeftOut, ...] = (
    # Sizes.
    LeftOut("sizes A10 and A11", "they are A8 and A9 without InfiniBand, and have no GPU"),
    LeftOut("promotional sizes of the H series", "retired with the series on 2022-08-31, and in no list of figures or prices"),
    LeftOut("Standard_ND40s_v2", "a preview without figures of its own, replaced by ND40rs_v2 in 2020; `NDv2` has a note"),
    LeftOut(
        "RTX PRO 6000 preview names that are in price lists alone",
        "withdrawn before the sizes became general, and no page gives their figures; a price that is asked for says so",
    ),
    LeftOut("the GPU of Standard_ND40s_v3", "no source names it, so nothing is said of its drivers, nor of AKS"),
    LeftOut("which part of a GPU a size of NCads_A10_v4 has", "the SKU API reports whole GPUs, and no page has the series"),
    LeftOut("the day on which NVv2 retired", "no notice was found; the series is in doubt from the first source that doubts it"),
    LeftOut(
        "figures of the NVv3 sizes hs and ms and the NVv4 sizes ahs", "the retirement guides name them, and no page has the rest"
    ),
    LeftOut("memory of the restricted ND sizes", "no public page offers them, and the list that names them has no memory"),
    LeftOut("a page of Microsoft's with the figures of the RTX PRO 6000 sizes", "not found; they are those of a pricing feed"),
    LeftOut("quota families of HB and of ND128isrG5_GB300_v6", "no source names them; preflight compares with what Azure lists"),
    LeftOut("FPGAs of the NP series as accelerators", "they are no GPUs; the series is there so that nobody takes them for some"),
    # Container Instances and Container Apps.
    LeftOut(
        "most CPU and memory of a container group without a GPU in 2019", "the page says less than with a GPU, and no figure"
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
    LeftOut("whether Batch lists almalinux-hpc and azurelinux-hpc", "only its live list of images says so"),
    LeftOut("the node agent of Azure Linux 3 in Batch", "Batch has one since 2025-04, and no source spells its name"),
    LeftOut(
        "whether Batch takes H200, MI300X, GB200 and GB300 sizes", "its tables end in 2021; its notice of 2024 names H100 alone"
    ),
    LeftOut(
        "a newer version of Batch's article of 2018 on GPUs and RDMA", "not found; its tables are applied as those of their day"
    ),
    LeftOut("$NodeDeallocationOption on Spot nodes of Batch", "no source says whether a node that is taken away heeds it"),
    LeftOut("the day to which the end of Batch's default outbound access was moved", "the notice that moves it gives none"),
    LeftOut("recipes of Batch Shipyard", "the project has stood still since 2023-03"),
    # Drivers and CUDA.
    LeftOut("the first driver for each single GPU model", "NVIDIA gives it for MIG alone; a generation's first branch decides"),
    LeftOut("drivers of CUDA 13.2 and later", "no release notes of theirs were read; what is newer is let through"),
    LeftOut("TensorFlow's images from 2.19 on", "TensorFlow's table of tested builds ends with 2.18"),
    # AKS.
    LeftOut(
        "A10 sizes on Azure Linux 3 in AKS",
        "a summary gives them the systems of the other NVIDIA sizes; the list of Azure's node provisioner has Ubuntu and Windows "
        "alone, and is followed",
    ),
    LeftOut("whether Kubernetes 1.37 is general on AKS", "it was planned for 2026-10 in the last table that was read"),
    LeftOut("patch versions of Kubernetes on AKS", "they change each month; `az aks get-versions` shows those of a region"),
    LeftOut("the rest of the DCGM exporter's default counters", "dashboards and alerts here need none of them"),
    # Azure Machine Learning.
    LeftOut("sizes that managed endpoints added after their list", "H200 and RTX PRO 6000 may be among them; no page says"),
    LeftOut(
        "whether the service still attaches machines as compute",
        "API and samples keep it; no page speaks of it since 2024",
    ),
    LeftOut("plus-gpu-0.7.9, the other tag of Workbench's base image", "the article's text has it, its file plus-gpu-0.9.9"),
    LeftOut("CNTK itself", "no release since 2019; `import` names its wheels, and that 1-bit SGD has a licence of its own"),
    LeftOut("FPGAs, to which the article on inference leads on", "they are no GPUs, and nothing here runs on one"),
    LeftOut(
        "ONNX, to which it leads on too",
        "the workload `scoring` serves TensorFlow's SavedModels; models of other kinds bring an image of theirs",
    ),
    # Azure Stack Edge.
    LeftOut("size names of devices with an A2", "no page has them; a size has to match the device's GPU"),
    LeftOut("end of sale and of life of Stack Edge Pro GPU and Pro 2", "no notice was found"),
    LeftOut("the comment that begins with // in the sharing article's YAML", "a slip: YAML doesn't know it"),
    # Virtual machines.
    LeftOut("the last day of the Data Science Virtual Machine", "no end is announced; no image newer than mid-2025 was seen"),
    # Prices.
    LeftOut(
        "the comparison of the two price lists",
        "of 190 prices in both, 173 are equal; the newer is taken: NG V620 is 30 % cheaper in it",
    ),
    LeftOut("other versions of the older price list", "they have the same rows or fewer, and no day of their own"),
    LeftOut("prices of reservations, savings plans and DevTest", "pay-as-you-go and Spot alone are compared here"),
    LeftOut("prices of Windows machines", "sizes are compared by the Linux price; Windows adds its licence to it"),
    LeftOut("meterRegion='primary' in a question for prices", "it would drop the prices on demand (inferred), so it isn't asked"),
    LeftOut("the form of the price API's rows and pages", "it stands with the client that reads them, in `operations`"),
    LeftOut("a recorded answer of the price API", "it is of a size without a GPU; the tests' server answers in its form"),
    # Everything.
    LeftOut("whether Azure Resource Manager refuses what is refused here", "the rules follow documents; none was tried on Azure"),
    LeftOut("regions that the articles of 2017 to 2019 use as examples", "they are examples, and say nothing of other regions"),
)
