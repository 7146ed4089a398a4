"""Azure Batch: pools with GPUs or InfiniBand, their images and node agents, and what they run."""
