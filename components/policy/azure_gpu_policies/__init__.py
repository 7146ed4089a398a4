"""Policies for programs that put GPU work on Azure, whether they use the library's components or not.

They check the properties of resources of pulumi-azure-native and pulumi-kubernetes, and return the library's problems. Facts
about Azure are in `azure_gpu.catalog`; this package reads resources and applies rules. `policies` lists all policies; only `pack`
depends on Pulumi.
"""
