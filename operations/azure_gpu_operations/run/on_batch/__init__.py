"""`run --on batch`: tasks on the nodes of a stack's pool, their output here, the first failing exit code as our own."""
