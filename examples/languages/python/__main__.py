import pulumi

from azure_gpu import BatchAccount, BatchPool, Foundation, GpuCluster, MlEndpoint, MlWorkspace

config = pulumi.Config()
last_day = config.require("lastDay")

base = Foundation(
    "base",
    location="westeurope",
    team=config.require("team"),
    identity="create",
    storage="create",
    log_workspace="create",
    protect_data=False,
)

batch = BatchAccount("batch", foundation=base)
train = BatchPool(
    "train",
    batch_account=batch,
    size="Standard_NC4as_T4_v3",
    autoscale={"max_nodes": config.require_int("maxNodes"), "spot": True},
    expires_after=last_day,
)

shared = GpuCluster(
    "shared",
    foundation=base,
    gpu_pools={"t4": {"size": "Standard_NC4as_T4_v3", "max_nodes": 1}},
    expires_after=last_day,
)

workspace = MlWorkspace(
    "workspace",
    foundation=base,
    models={"digits": {"version": "1", "path": "digits/1", "type": "triton"}},
    environments={
        "server": {
            "version": "1",
            "image": "nvcr.io/nvidia/tritonserver:24.12-py3",
            "routes": {"port": 8000, "scoring": "/"},
        }
    },
)
digits = MlEndpoint(
    "digits",
    workspace=workspace,
    deployments={
        "blue": {"model": "digits", "environment": "server", "instance_type": "Standard_NC4as_T4_v3"},
    },
    expires_after=last_day,
)

pulumi.export("pool", train.pool_id)
pulumi.export("cluster", shared.cluster_name)
pulumi.export("scoringUri", digits.scoring_uri)
pulumi.export("hourlyCost", digits.hourly_cost)
