"""What several services need: names, tags, end dates, existing parts, roles, validation of arguments."""
