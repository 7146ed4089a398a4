"""Declares the network interface of a virtual machine, with its network, address and Bastion.

`vm.network` decides what is in the network and who may connect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pulumi
from pulumi_azure_native import network

from azure_gpu.formats import azure_types
from azure_gpu.shared import retry_hooks
from azure_gpu.vm.args import DEFAULT_ADDRESS_SPACE
from azure_gpu.vm.network import BASTION_SUBNET, SUBNET, Rule
from azure_gpu.vm.spec import GpuVmSpec


class VmInterface(NamedTuple):
    """The machine's network interface."""

    interface: network.NetworkInterface
    address: pulumi.Output[str]  # the public one if it has one; empty while unknown


@dataclass(frozen=True, slots=True)
class NetworkDeclaration:
    """Declares network and interface as children of a component."""

    _name: str
    _spec: GpuVmSpec
    _group: pulumi.Input[str]
    _location: pulumi.Input[str] | None
    _parent: pulumi.ComponentResource

    @property
    def _child(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self._parent)

    @property
    def _common(self) -> dict[str, Any]:
        return {"resource_group_name": self._group, "location": self._location, "tags": self._spec.tags}

    def declare(self, subnet_id: pulumi.Input[str] | None) -> VmInterface:
        """Declares the interface in the subnet `subnet_id`; None also declares a network."""
        address = self._public_address() if self._spec.network.public_address else None
        group = self._security_group()
        interface = self._interface(subnet_id if subnet_id is not None else self._network(group), group, address)
        reached_at = address.ip_address if address is not None else interface.ip_configurations.apply(_private_address)
        return VmInterface(interface, reached_at.apply(lambda text: text or ""))

    def _security_group(self) -> network.NetworkSecurityGroup:
        return network.NetworkSecurityGroup(
            f"{self._name}-security-group",
            network_security_group_name=self._spec.name_of(azure_types.NETWORK_SECURITY_GROUP),
            **self._common,
            security_rules=[_rule(rule) for rule in self._spec.network.rules],
            opts=self._child,
        )

    def _interface(
        self, subnet_id: pulumi.Input[str], group: network.NetworkSecurityGroup, address: network.PublicIPAddress | None
    ) -> network.NetworkInterface:
        spec = self._spec
        return network.NetworkInterface(
            f"{self._name}-interface",
            network_interface_name=spec.name_of(azure_types.NETWORK_INTERFACE),
            **self._common,
            ip_configurations=[
                network.NetworkInterfaceIPConfigurationArgs(
                    name="primary",
                    primary=True,
                    private_ip_allocation_method=network.IPAllocationMethod.DYNAMIC,
                    subnet=network.SubnetArgs(id=subnet_id),
                    public_ip_address=network.PublicIPAddressArgs(id=address.id) if address is not None else None,
                )
            ],
            network_security_group=network.NetworkSecurityGroupArgs(id=group.id),
            # Of its deletion, too, by `destroy --run-program`: Azure reserves it for a machine that found no capacity.
            opts=pulumi.ResourceOptions(parent=self._parent, hooks=retry_hooks.hooks(self._parent)),
        )

    def _public_address(self, suffix: str = "") -> network.PublicIPAddress:
        """A static address. `suffix` distinguishes the Bastion's from the machine's."""
        return network.PublicIPAddress(
            f"{self._name}-{suffix}{'-' if suffix else ''}address",
            public_ip_address_name=self._spec.name_of(azure_types.PUBLIC_IP_ADDRESS, suffix),
            **self._common,
            public_ip_allocation_method=network.IPAllocationMethod.STATIC,
            public_ip_address_version=network.IPVersion.I_PV4,
            sku=network.PublicIPAddressSkuArgs(name=network.PublicIPAddressSkuName.STANDARD),
            opts=self._child,
        )

    def _network(self, group: network.NetworkSecurityGroup) -> pulumi.Output[str]:
        """The id of a subnet in a new network, with a Bastion if configured."""
        spec, outbound = self._spec, self._spec.settings.get("outbound", "default") == "default"
        # Policies of companies ask for a security group at the subnet, whatever is at the interface.
        subnets = [_subnet(SUBNET, spec.network.subnet, default_outbound=outbound, group_id=group.id)]
        if spec.network.bastion_subnet:
            subnets.append(_subnet(BASTION_SUBNET, spec.network.bastion_subnet, default_outbound=False))
        declared = network.VirtualNetwork(
            f"{self._name}-network",
            virtual_network_name=spec.name_of(azure_types.VIRTUAL_NETWORK),
            **self._common,
            address_space=network.AddressSpaceArgs(address_prefixes=[spec.settings.get("address_space", DEFAULT_ADDRESS_SPACE)]),
            # Declared inside the network, which only this machine uses: Azure returns a network with its subnets, so that every
            # refresh would show a change without them.
            subnets=subnets,
            opts=self._child,
        )
        if spec.network.bastion != "none":
            self._bastion(declared)
        return pulumi.Output.concat(declared.id, "/subnets/", SUBNET)

    def _bastion(self, declared: network.VirtualNetwork) -> None:
        spec = self._spec
        name = spec.name_of(azure_types.BASTION_HOST)
        if spec.network.bastion == "developer":
            network.BastionHost(
                f"{self._name}-bastion",
                bastion_host_name=name,
                **self._common,
                sku=network.SkuArgs(name=network.BastionHostSkuName.DEVELOPER),
                virtual_network=network.SubResourceArgs(id=declared.id),
                opts=self._child,
            )
            return
        network.BastionHost(
            f"{self._name}-bastion",
            bastion_host_name=name,
            **self._common,
            sku=network.SkuArgs(name=network.BastionHostSkuName.BASIC),
            ip_configurations=[
                network.BastionHostIPConfigurationArgs(
                    name="primary",
                    subnet=network.SubResourceArgs(id=pulumi.Output.concat(declared.id, "/subnets/", BASTION_SUBNET)),
                    public_ip_address=network.SubResourceArgs(id=self._public_address("bastion").id),
                )
            ],
            opts=self._child,
        )


def _subnet(name: str, prefix: str, *, default_outbound: bool, group_id: pulumi.Input[str] | None = None) -> network.SubnetArgs:
    """Outbound access is always set: its default depends on the API's version since 2026-03-31."""
    group = network.NetworkSecurityGroupArgs(id=group_id) if group_id is not None else None
    return network.SubnetArgs(
        name=name, address_prefix=prefix, default_outbound_access=default_outbound, network_security_group=group
    )


def _rule(rule: Rule) -> network.SecurityRuleArgs:
    several = len(rule.sources) > 1
    return network.SecurityRuleArgs(
        name=rule.name,
        priority=rule.priority,
        direction=network.SecurityRuleDirection.INBOUND,
        access=network.SecurityRuleAccess.ALLOW if rule.allow else network.SecurityRuleAccess.DENY,
        protocol=network.SecurityRuleProtocol.TCP if rule.allow else network.SecurityRuleProtocol.ASTERISK,
        source_address_prefix=None if several else rule.sources[0],
        source_address_prefixes=list(rule.sources) if several else None,
        source_port_range="*",
        destination_address_prefix="*",
        destination_port_range=rule.port,
    )


def _private_address(configurations: Any) -> str:
    """Of the first and only configuration; empty while unknown."""
    first = configurations[0] if configurations else None
    return (getattr(first, "private_ip_address", None) if first is not None else None) or ""
