"""The provider plugin `kubernetes` for machines that can't have the real one: a client of any Kubernetes API server.

It copies pulumi-kubernetes 4.34's Check, Diff, Create, Update, Read and Delete for every object of the API, applies server-side
with strict field validation, and waits until what it made is there. Helm, YAML files and patches it refuses by name.
Facts from the public source of pulumi/pulumi-kubernetes (provider/pkg) and from the descriptions in its SDK.
"""
