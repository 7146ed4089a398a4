"""Azure Batch: pools, jobs and tasks of a stack's account, through Azure's own clients."""
