"""Clusters of AKS: a real Kubernetes control plane each, and nodes whose pods are processes of this machine."""
