"""Transfers files between the stack's storage account and a run's container, with the container's managed identity."""
