"""Read-only information about a subscription: sizes that are sold, quotas, permissions."""
