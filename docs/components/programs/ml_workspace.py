import pulumi

from azure_gpu import Foundation, MlWorkspace

base = Foundation("base", location="westeurope", identity="create", storage="create", log_workspace="create")
computes = {"t4": {"size": "Standard_NC4as_T4_v3", "max_nodes": 2, "expires_after": "2026-12-31"}}
workspace = MlWorkspace("ml", foundation=base, computes=computes)
pulumi.export("workspace", workspace.workspace_id)
