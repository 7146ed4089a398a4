"""Kubernetes objects, jobs, services and GPU sharing, on whatever cluster they run."""
