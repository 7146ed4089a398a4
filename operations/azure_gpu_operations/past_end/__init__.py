"""`end --past`: finds expired parts of stacks, why some are kept, and destroys the others."""
