import pulumi
import pulumi_azure_native as azure

from azure_gpu import GalleryImage

rg = azure.resources.ResourceGroup("rg", location="westeurope")
image = GalleryImage("tools", resource_group_name=rg.name, location="westeurope", os_type="Linux")
pulumi.export("definition", image.definition_id)
