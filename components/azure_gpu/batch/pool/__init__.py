"""A Batch pool: its component, its arguments, and what it refuses by itself. What Batch refuses is in the catalog."""
