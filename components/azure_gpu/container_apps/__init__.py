"""Azure Container Apps: environments with serverless GPUs, and the jobs in them."""
