"""How Microsoft.Compute refuses requests about virtual machines: its codes and sentences, which tools and forums know.

Sources:
  - OperationNotAllowed for quotas (409): nforgeio/neonKUBE issue 1671, 2022-09-02; theonemule/fahclient-azure-vm issue 3
  - PropertyChangeNotAllowed (409): Azure/azure-sdk-for-net issue 37285, 2023-06-28; Azure/azure-sdk-for-java issue 1976
  - BadRequest, "cannot boot Hypervisor Generation": loft-sh/devpod issue 731, 2023-10-10
  - Conflict, "Run command extension execution is in progress": MicrosoftDocs/azure-docs issue 43356, 2019-11-22
  - OperationNotAllowed, "Cannot modify extensions in the VM when the VM is not running" (409):
    hashicorp/terraform-provider-azurerm issue 477, 2017-10-31
  - NotFound of a network interface (404): Azure Service Operator's session Test_Compute_VM_20201201_CRUD (2026-07-23)
Where none of them fits InvalidParameter is assumed, in the form "The value … of parameter … is invalid", or BadRequest.
"""

from localazure.arm.errors import ArmError, refusal_of


def refused(code: str, **words: str) -> ArmError:
    return refusal_of("Microsoft.Compute", code, **words)


def invalid(target: str, message: str) -> ArmError:
    return ArmError(400, "InvalidParameter", message, target=target)


def no_interface(reference: str) -> ArmError:
    return ArmError(404, "NotFound", f"Resource {reference} not found.")


def missing(name: str) -> ArmError:
    return invalid(name, f"Required parameter '{name}' is missing (null).")


def bad_request(message: str, target: str = "") -> ArmError:
    return ArmError(400, "BadRequest", message, target=target)


def not_allowed(message: str, target: str = "") -> ArmError:
    return ArmError(409, "OperationNotAllowed", message, target=target)


def change_not_allowed(what: str) -> ArmError:
    return ArmError(409, "PropertyChangeNotAllowed", f"Changing property '{what}' is not allowed.", target=what)


def extensions_need_power() -> ArmError:
    return not_allowed("Cannot modify extensions in the VM when the VM is not running.")


def needs_power(name: str) -> ArmError:
    return not_allowed(f"The operation requires the VM '{name}' to be running (or set to run).")


def command_in_progress() -> ArmError:
    message = "Run command extension execution is in progress. Please wait for completion before invoking a run command."
    return ArmError(409, "Conflict", message)


def over_quota(name: str, region: str, limit: int, used: int, requested: int) -> ArmError:
    return not_allowed(
        f"Operation could not be completed as it results in exceeding approved {name} quota. Additional details - Deployment "
        f"Model: "
        f"Resource Manager, Location: {region}, Current Limit: {limit}, Current Usage: {used}, Additional Required: {requested}, "
        f"(Minimum) "
        f"New Limit Required: {used + requested}. Submit a request for Quota increase by specifying parameters listed in the "
        f"'Details' "
        "section for deployment to succeed. Please read more about quota limits at "
        "https://docs.microsoft.com/en-us/azure/azure-supportability/per-vm-quota-requests"
    )


def wrong_generation(size: str, generation: str) -> ArmError:
    number = generation.removeprefix("Gen")
    return bad_request(
        f"The selected VM size '{size}' cannot boot Hypervisor Generation '{number}'. If this was a Create operation please "
        f"check that "
        "the Hypervisor Generation of the Image matches the Hypervisor Generation of the selected VM Size. If this was an Update "
        f"operation please select a Hypervisor Generation '{number}' VM Size. For more information, see https://aka.ms/azuregen2vm"
    )
