"""A Batch pool: its component, its arguments and their validation. The rules of Batch are in the catalog."""
