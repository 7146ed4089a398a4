"""A Batch account: its component, its arguments, and every reason to refuse them."""
