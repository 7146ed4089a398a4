"""Azure Machine Learning: compute, online endpoints, the extension for Kubernetes clusters, and clients."""
