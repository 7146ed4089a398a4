"""A workspace: its component, its arguments, and every reason to refuse them."""
