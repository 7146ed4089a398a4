"""`run --on batch`: runs tasks on a stack's pool, streams their output and returns the first nonzero exit code."""
