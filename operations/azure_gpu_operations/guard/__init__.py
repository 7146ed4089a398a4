"""Refusals that keep `up` and `down` from deleting data which nobody meant to delete."""
