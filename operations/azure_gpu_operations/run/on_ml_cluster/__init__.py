"""`run --on cluster`: as a job on a compute cluster of the stack's Azure ML workspace."""
