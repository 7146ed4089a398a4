"""Kubernetes clusters that are given by kubeconfig, Azure Stack Edge included."""
