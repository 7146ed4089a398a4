"""Policies for programs that put GPU work on Azure, whether they use the library's components or not.

In: the properties of resources of pulumi-azure-native and pulumi-kubernetes. Out: problems, in the form that the library has.
What is known of Azure is `azure_gpu.catalog`; here is how a resource is read and what is asked of it. `policies` lists all,
`pack` gives them to Pulumi, which nothing else here needs.
"""
