"""Kubernetes clusters as operations reach them: those of AKS through ARM, edges by their kubeconfig."""
