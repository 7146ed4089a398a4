"""The stack file: its keys, what becomes of them, the reference and the schema."""
