"""A monthly budget of a stack, with notifications."""
