"""The subscriptions that there are."""

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"  # the stacks' own, and no real one
SECOND_SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"  # where a company has what its stacks use; without quotas
SUBSCRIPTIONS = (SUBSCRIPTION, SECOND_SUBSCRIPTION)
