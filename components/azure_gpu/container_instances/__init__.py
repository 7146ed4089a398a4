"""Azure Container Instances: container groups, with GPUs or without."""
