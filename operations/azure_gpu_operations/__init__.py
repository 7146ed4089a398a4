"""What people and CI do beside `pulumi`: settle what a killed run left, bring a stack up and wait for its work, take it down."""
