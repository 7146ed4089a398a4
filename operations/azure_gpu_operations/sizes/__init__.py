"""`sizes`: which GPU sizes there are, what is known of each, which are about to go, and what replaces one."""
