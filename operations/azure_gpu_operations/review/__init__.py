"""A review: what a change of a stack file or of a component would change, cost and lose, against its base commit."""
