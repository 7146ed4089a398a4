"""Azure Kubernetes Service: clusters with GPU pools."""
