"""Checks that keep `up` and `down` from deleting data by accident."""
