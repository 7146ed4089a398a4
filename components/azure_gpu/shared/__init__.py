"""Shared by several services: names, tags, end dates, existing parts, roles, validation of arguments."""
