"""Images that are folders and Python environments, and containers that are processes of this machine."""
