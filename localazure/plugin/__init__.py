"""The provider plugin `azure-native` for machines that can't have the real one: a client of ARM like any other.

It copies the real provider's Check, Diff and Create, reads the real provider's configuration keys, and works with the embedded
Azure's subscription alone. What it doesn't know, it refuses by name.
"""
