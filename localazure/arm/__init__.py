"""Azure Resource Manager (ARM): stored resources, long operations, errors, and the rules that hold for every type."""
