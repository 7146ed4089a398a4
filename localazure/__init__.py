"""The embedded Azure: the parts of Azure that this project's stacks need, on loopback, for real and unmodified clients.

Nothing in the program imports this package. It stands where Azure stands: behind HTTPS.
"""
