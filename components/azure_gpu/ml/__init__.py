"""Azure Machine Learning: workspaces and online endpoints."""
