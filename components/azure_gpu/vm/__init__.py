"""Virtual machines with a GPU."""
