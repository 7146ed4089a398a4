"""A Batch account: its component, its arguments and their validation."""
