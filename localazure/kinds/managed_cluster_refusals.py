"""Errors of AKS to ARM requests: its codes and sentences, which tools and forums know.

AKS answers errors without ARM's envelope (`{"code", "message", "details", "subcode"}`); here they have it. Codes and sentences as
users quote them:
  - InvalidParameter, "The value of parameter … is invalid": Azure/AKS issue 3300; with details Azure/bicep issue 14517;
    "Required parameter … is missing (null)": Azure/ARO-HCP pull request 629; of a pool's count pulumi/pulumi-azure-native issue
    2943, where the pool has no `type`; Azure/ARO-HCP pull request 3659 has pools with a type and without a count
    "Cannot manually scale AgentPool …": hashicorp/terraform-provider-azurerm pull request 4543
  - "Must define at least one system pool": Azure/AKS issue 1602; "There has to be at least one system agent pool":
    Azure/aks-engine issue 542, with the code of pulumi/pulumi-azure-native issue 1575
  - BadRequest, "A new agent pool was introduced": pulumi/pulumi-azure-nextgen issue 168
  - BadRequest, "The VM size of …": hashicorp-education/learn-terraform-provision-aks-cluster issue 15
  - BadRequest, "Getting static credential is not allowed …": Azure/caf-terraform-landingzones issue 416
  - OperationNotAllowed while another operation runs: cilium/cilium issue 25944, Azure/terraform-azurerm-avm-ptn-aks-production
    pull request 25
  - "managed cluster is in Provisioning State(…) and Power State(…)": MicrosoftDocs/azure-docs issue 85161
Where none of them fits, InvalidParameter is assumed, with the reason in words of ours.
"""

from localazure.arm.errors import ArmError

NAMING_RULES = "Please see https://aka.ms/aks-naming-rules for more details."
_PENDING = "See https://aka.ms/aks-pending-operation for more details"


def invalid(parameter: str, reason: str = "") -> ArmError:
    said = f" Error details: {_sentence(reason)}" if reason else ""
    return ArmError(
        400, "InvalidParameter", f"The value of parameter {parameter} is invalid.{said} {NAMING_RULES}", target=parameter
    )


def missing(parameter: str) -> ArmError:
    return ArmError(400, "InvalidParameter", f"Required parameter {parameter} is missing (null).", target=parameter)


def bad_request(message: str, target: str = "") -> ArmError:
    return ArmError(400, "BadRequest", message, target=target)


def not_allowed(message: str, status: int = 400) -> ArmError:
    return ArmError(status, "OperationNotAllowed", message)


def pending(operation: str) -> ArmError:
    """`operation`: what is under way, such as `Another operation (Updating)`."""
    message = (
        f"Operation is not allowed: {operation} is in progress, please wait for it to finish before starting a new operation."
    )
    return not_allowed(f"{message} {_PENDING}", 409)


def scaled_by_hand(pool: str) -> ArmError:
    return ArmError(
        400,
        "InvalidParameter",
        f"Cannot manually scale AgentPool '{pool}' of an AKS cluster with cluster autoscaler enabled. Please disable cluster "
        "autoscaler in the cluster to manually scale.",
    )


def wrong_power(state: str, power: str, doing: str) -> ArmError:
    """`doing`: stopping, starting, …"""
    return not_allowed(
        f"managed cluster is in Provisioning State({state}) and Power State({power}), {doing} cannot be performed", 409
    )


def size_not_allowed(size: str, region: str, reason: str) -> ArmError:
    message = f"The VM size of {size} is not allowed in your subscription in location '{region}'. {_sentence(reason)}"
    message += " For more details, please visit https://aka.ms/aks/quotas-skus-regions"
    return ArmError(400, "BadRequest", message, target="agentPoolProfile.vmSize")


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}." if reason else ""
