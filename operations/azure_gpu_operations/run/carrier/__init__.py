"""What carries files of a run between the stack's storage account and a container, as the container's own managed identity."""
