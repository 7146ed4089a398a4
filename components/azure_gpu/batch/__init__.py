"""Azure Batch: accounts and pools of nodes with GPUs or InfiniBand."""
