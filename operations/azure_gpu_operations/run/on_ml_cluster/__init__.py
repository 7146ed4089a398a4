"""`run --on cluster`: runs a job on a compute cluster of the stack's Azure ML workspace."""
