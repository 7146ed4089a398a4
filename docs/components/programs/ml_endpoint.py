import pulumi

from azure_gpu import Foundation, MlEndpoint, MlWorkspace

base = Foundation("base", location="westeurope", identity="create", storage="create", log_workspace="create")
models = {"digits": {"version": "1", "path": "digits/1", "type": "triton"}}
workspace = MlWorkspace("ml", foundation=base, models=models)
endpoint = MlEndpoint(
    "digits",
    workspace=workspace,  # or the ARM id of one
    deployments={"blue": {"model": "digits", "instance_type": "Standard_NC4as_T4_v3"}},
    expires_after="2026-12-31",
)
pulumi.export("scoring_uri", endpoint.scoring_uri)
