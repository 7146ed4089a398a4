"""A serverless GPU job: its component, its arguments, and every reason to refuse them."""
