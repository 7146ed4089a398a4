"""All policies, in the order of docs/policies.md."""

from azure_gpu_policies import ends, environments, exposure, keys, pods, prices, scaling, sold
from azure_gpu_policies.model import Policy

ALL: tuple[Policy, ...] = (
    *sold.POLICIES,
    *exposure.POLICIES,
    *keys.POLICIES,
    *environments.POLICIES,
    *ends.POLICIES,
    *scaling.POLICIES,
    *prices.POLICIES,
    *pods.POLICIES,
)
BY_NAME = {each.name: each for each in ALL}
