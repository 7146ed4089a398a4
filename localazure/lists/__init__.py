"""What a subscription is told about itself: sizes that are sold, quotas, rights. Nothing of it can be written."""
