"""`prove`: shows on every service of a stack that work runs there, on which device, how fast, and for how much."""
