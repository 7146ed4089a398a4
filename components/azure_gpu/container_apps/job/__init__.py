"""A serverless GPU job: its component, its arguments and their validation. The rules of Container Apps are in the catalog."""
