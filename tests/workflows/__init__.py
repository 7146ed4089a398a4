"""The workflows, run line by line on this machine against a stand-in for the hosting service's API."""
