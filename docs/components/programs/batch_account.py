import pulumi

from azure_gpu import BatchAccount, Foundation

base = Foundation("base", location="westeurope", identity="create", storage="create")
account = BatchAccount("batch", foundation=base, applications={"blender": {"display_name": "Blender"}})
pulumi.export("account", account.account_id)
