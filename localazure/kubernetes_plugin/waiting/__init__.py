"""Waiting for objects: until they are ready, until they are gone, and saying why they aren't."""
