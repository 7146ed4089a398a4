"""Kubernetes objects, jobs, services and GPU sharing, for every kind of cluster."""
