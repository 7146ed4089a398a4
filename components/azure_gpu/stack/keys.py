"""The namespace of a stack file's keys. Loads no Pulumi, for commands that need a key and no settings."""

PROJECT = "azure-gpu"  # as in Pulumi.yaml


def config_key(section: str) -> str:
    """How a stack file spells a key of `StackFile`, such as `azure-gpu:edges`."""
    return f"{PROJECT}:{section}"
