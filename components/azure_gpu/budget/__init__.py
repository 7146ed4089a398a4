"""A budget of a stack: what its month may cost, and who is told."""
