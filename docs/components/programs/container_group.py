import pulumi
import pulumi_azure_native as azure

from azure_gpu import ContainerGroup

rg = azure.resources.ResourceGroup("rg", location="westeurope")
group = ContainerGroup("hello", resource_group_name=rg.name, image="python:3.11", command=["python", "-c", "print('hello')"])
pulumi.export("group", group.group_id)
