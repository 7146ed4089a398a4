"""A serverless GPU job: its component, its arguments, and what it refuses by itself. What Container Apps refuses is in the
catalog."""
