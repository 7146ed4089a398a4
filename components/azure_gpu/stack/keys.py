"""The keys of a stack file, by namespace, and the variable that names the file."""

PROJECT = "azure-gpu"  # the name of this project, and so its namespace
REGION = "region"  # of `unchecked`
OTHER_STACKS = "stacks"  # the section that names stacks whose outputs this one reads
FILE_VARIABLE = "AZURE_GPU_STACK_FILE"  # path of the stack file, if it isn't in the folder of the program


def config_key(section: str, project: str = PROJECT) -> str:
    """Returns a key of `StackFile` with its namespace, such as `azure-gpu:edges`."""
    return f"{project}:{section}"
