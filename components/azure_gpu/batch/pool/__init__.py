"""A Batch pool: its component, its arguments, and every reason to refuse them."""
