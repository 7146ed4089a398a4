"""What is known: dated facts about GPUs on Azure with their sources, and pure rules over them.

No Pulumi, no network, no I/O at import. Every record, a row of a table or a request, is a NamedTuple: unchangeable as a frozen
dataclass is, and loaded in a sixth of its time. Records are built by field names wherever they have more than a few fields.
"""
