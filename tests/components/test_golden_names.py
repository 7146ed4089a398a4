"""A naming rule that changes shows as lines of a table: for whoever has a stack up, each is a replacement."""

from azure_gpu.formats.azure_types import BY_TOKEN
from tests.components import golden_names


def test_the_names_are_those_of_the_table() -> None:
    had = set(golden_names.TABLE.read_text(encoding="utf-8").splitlines())
    has = set(golden_names.table().splitlines())
    lost, new = sorted(had - has), sorted(has - had)
    renew = "python -m tests.components.golden_names --renew"
    assert not lost, "\n".join(["these names change or go; say in CHANGELOG.md what becomes of stacks", *lost, "now:", *new])
    assert not new, "\n".join([f"these names are new: {renew}", *new])


def test_every_type_in_azure_has_a_name_in_the_table() -> None:
    """One that no shipped stack and no happy case declares would change unseen. What is declared nowhere is in the set."""
    rows = [line.split("\t") for line in golden_names.TABLE.read_text(encoding="utf-8").splitlines()[1:]]
    named = {resource.split("::")[0].rpartition("$")[2] for _, resource, name in rows if name != golden_names.RANDOM}
    left = {token.removeprefix("azure-native:") for token in BY_TOKEN if token not in named}
    assert left == UNNAMED
    assert len(rows) == len({(stack, resource) for stack, resource, _ in rows})


# A workspace and a vault get random ends; the program declares no other of these, or only where a stack file asks for more.
UNNAMED = {
    "batch:ApplicationPackage",
    "compute:Disk",
    "compute:VirtualMachineExtension",
    "containerregistry:TaskRun",
    "keyvault:Vault",
    "machinelearningservices:CodeContainer",
    "machinelearningservices:CodeVersion",
    "machinelearningservices:EnvironmentContainer",
    "machinelearningservices:Job",
    "machinelearningservices:ModelContainer",
    "machinelearningservices:Workspace",
    "monitor:AutoscaleSetting",
    "network:PrivateDnsZoneGroup",
    "network:PrivateEndpoint",
    "network:Subnet",
}
