"""What is known: dated facts about GPUs on Azure with their sources, and pure rules over them.

No Pulumi, no network, no I/O at import.
"""
