import pulumi

from azure_gpu import BatchAccount, BatchPool, Foundation

base = Foundation("base", location="westeurope", identity="create", storage="create")
account = BatchAccount("batch", foundation=base)
pool = BatchPool(
    "t4",
    batch_account=account,  # or the ARM id of one
    size="Standard_NC4as_T4_v3",
    autoscale={"max_nodes": 2, "spot": True},
    expires_after="2026-12-31",
)
pulumi.export("pool", pool.pool_id)
