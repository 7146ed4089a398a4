"""The stack file: its keys, the plan that is made from them, the reference and the schema."""
