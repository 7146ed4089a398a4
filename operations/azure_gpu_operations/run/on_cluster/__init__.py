"""`run --on aks` and `--on edge`: runs a Kubernetes Job, and returns the exit code of its pod."""
