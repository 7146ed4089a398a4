"""`preflight`: what speaks against a stack, or against a use of GPUs, before anything is created.

Offline it asks the catalog; online it reads what Azure says of the subscription: registrations, rights, offers, quotas, names.
"""
