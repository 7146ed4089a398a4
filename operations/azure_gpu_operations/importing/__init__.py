"""What people have in files, container groups and Shipyard's pools, as configuration: `python -m operations import FILE`."""
