import pulumi

from azure_gpu import Foundation

base = Foundation("base", location="westeurope", identity="create", registry="create", storage="create", tags={"owner": "vision"})
pulumi.export("resource_group", base.resource_group_name)
