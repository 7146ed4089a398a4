import pulumi
import pulumi_azure_native as azure

from azure_gpu import JobEnvironment

rg = azure.resources.ResourceGroup("rg", location="swedencentral")
environment = JobEnvironment("jobs", resource_group_name=rg.name, location=rg.location.apply(str), gpus=["T4"])
pulumi.export("environment", environment.environment_id)
