"""Dated facts about GPUs on Azure with their sources, and pure rules over them.

No Pulumi, no network, no I/O at import. Records (rows of tables, requests) are NamedTuples: immutable like frozen dataclasses,
and six times faster to load. Records with more than a few fields are built by field names.
"""
