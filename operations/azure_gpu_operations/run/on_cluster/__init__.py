"""Runs on a Kubernetes cluster: one Job, followed to the exit code of its pod."""
