"""Kubernetes clusters that are given by a kubeconfig, including Azure Stack Edge."""
