"""A workspace: its component, its arguments and their validation."""
