"""`graph`: a stack as a tree or a diagram: its parts, what depends on what, identities with their roles, and costs."""
