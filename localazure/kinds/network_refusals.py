"""How Microsoft.Network refuses: its codes and sentences, which tools and forums know.

Sources:
  - NicInUse (400): hashicorp/terraform-provider-azurerm issue 8105, 2020-08-12
  - InUseSubnetCannotBeDeleted (400): kubernetes-sigs/cluster-api-provider-azure issue 172, 2019-04-04
  - PrivateIPAddressIsAllocated (400): F5Networks/terraform-azure-bigip-module issue 63, 2024-03-01
  - InvalidAddressPrefixFormat (400): Azure/azure-service-operator issue 997, 2020-04-23
  - NetcfgSubnetRangeOutsideVnet, NetcfgSubnetRangesOverlap: MicrosoftDocs/azure-docs pull request 123869, 2024-07-25
  - PublicIPAddressCannotBeDeleted (400): skyplane-project/skyplane issue 296, 2022-04-25
  - InUseNetworkSecurityGroupCannotBeDeleted: pulumi/pulumi-azure-native issue 3051, 2024-10-12
  - InvalidResourceReference, PublicIPAddressInUse, IPv4BasicSkuPublicIpCountLimitReached: as users of Azure's tools report them;
    of the sentences the words are kept, the statuses are assumed (400)
  - NicInUseWithPrivateEndpoint (400): hashicorp/terraform-provider-azurerm issue 20105; the status is assumed
Where none is known InvalidRequestFormat is assumed, with the reason in words of ours.
"""

from localazure.arm.errors import ArmError


def refused(code: str, message: str, target: str = "", status: int = 400) -> ArmError:
    return ArmError(status, code, message, target=target)


def invalid(message: str, target: str = "") -> ArmError:
    return refused("InvalidRequestFormat", f"Cannot parse the request. {message}", target)


def wrong_prefix(text: str, resource: str) -> ArmError:
    message = (
        f"Address prefix {text} of resource {resource} is not formatted correctly. It should follow CIDR notation, for example"
    )
    return refused("InvalidAddressPrefixFormat", f"{message} 10.0.0.0/24.")


def missing_reference(reference: str, by: str) -> ArmError:
    return refused(
        "InvalidResourceReference",
        f"Resource {reference} referenced by resource {by} was not found. Please make sure that the referenced resource "
        f"exists, and "
        "that both resources are in the same region.",
    )


def nic_in_use(nic: str, machine: str) -> ArmError:
    return refused(
        "NicInUse",
        f"Network Interface {nic} is used by existing resource {machine}. In order to delete the network interface, it must be "
        "dissociated from the resource. To learn more, see aka.ms/deletenic.",
    )


def nic_reserved(machine: str) -> ArmError:
    """gardenlinux/gardenlinux issue 4133 (2026-01-08)."""
    return refused(
        "NicReservedForAnotherVm",
        "Nic(s) in request is reserved for another Virtual Machine for 180 seconds. Please provide another nic(s) or retry after "
        f"180 seconds. Reserved VM: {machine}",
    )


def nic_of_endpoint(nic: str, endpoint: str) -> ArmError:
    return refused(
        "NicInUseWithPrivateEndpoint",
        f"Network interface {nic} cannot be updated or deleted because it is currently in use with a private endpoint "
        f"({endpoint}).",
    )


def subnet_in_use(subnet: str, by: str) -> ArmError:
    name = subnet.rsplit("/", 1)[-1]
    return refused(
        "InUseSubnetCannotBeDeleted",
        f"Subnet {name} is in use by {by} and cannot be deleted. In order to delete the subnet, delete all the resources "
        f"within the "
        "subnet. See aka.ms/deletesubnet.",
    )


def group_in_use(group: str, by: str) -> ArmError:
    return refused(
        "InUseNetworkSecurityGroupCannotBeDeleted",
        f"Network security group {group} cannot be deleted because it is in use by the following resources: {by}. In order to "
        f"delete "
        "the Network security group, remove the association with the resource(s). To learn how to do this, see aka.ms/deletensg.",
    )


def address_allocated(address: str, by: str) -> ArmError:
    return refused(
        "PublicIPAddressCannotBeDeleted",
        f"Public IP address {address} can not be deleted since it is still allocated to resource {by}. In order to delete the "
        f"public "
        "IP, disassociate/detach the Public IP address from the resource.  To learn how to do this, see aka.ms/deletepublicip.",
    )


def address_in_use(resource: str, address: str, by: str) -> ArmError:
    return refused(
        "PublicIPAddressInUse",
        f"Resource {resource} is referencing public IP address {address} that is already allocated to resource {by}.",
    )
