"""`prove`: runs a short workload on every service of a stack, and shows device, speed and cost."""
