"""`graph`: a stack as a picture: its parts, what depends on what, identities with their roles, and costs."""
