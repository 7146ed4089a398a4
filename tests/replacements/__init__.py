"""The replacement table: what a change of each argument of each component does, tried on the real engine."""
