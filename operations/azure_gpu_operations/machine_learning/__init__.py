"""What operations read of Azure Machine Learning: its online endpoints with their deployments, computes and jobs."""
