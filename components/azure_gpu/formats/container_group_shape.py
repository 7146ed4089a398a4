"""What a container group of Azure Container Instances is made of, in ARM's words: every property of the API versions from
2018-06-01 to 2024-05-01-preview.

Source: Microsoft's API descriptions, as generated in Azure/bicep-types-az for each of these versions.
"""

from pathlib import Path

from azure_gpu.formats.shaped import of_rows

ARM_TYPE = "Microsoft.ContainerInstance/containerGroups"
GROUP = of_rows(Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8"), "group")
