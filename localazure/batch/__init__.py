"""Azure Batch: the data plane with its jobs and tasks, and the pools whose nodes run them as processes of this machine."""
