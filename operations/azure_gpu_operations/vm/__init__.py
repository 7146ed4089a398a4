"""Starts, deallocates and describes a stack's virtual machines."""
