"""Azure Machine Learning: online endpoints with their deployments, computes, jobs and models."""
