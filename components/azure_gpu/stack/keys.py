"""The keys of a stack file, by namespace."""

PROJECT = "azure-gpu"  # the name of this project, and so its namespace


def config_key(section: str, project: str = PROJECT) -> str:
    """Returns a key of `StackFile` with its namespace, such as `azure-gpu:edges`."""
    return f"{project}:{section}"
