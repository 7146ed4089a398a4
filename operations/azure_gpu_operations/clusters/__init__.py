"""Access to Kubernetes clusters: AKS through ARM, edges by their kubeconfig."""
