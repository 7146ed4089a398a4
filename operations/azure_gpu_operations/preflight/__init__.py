"""`preflight`: checks a stack, or GPU machines, before anything is created.

Offline it checks against the catalog; online also against the subscription: registrations, rights, offers, quotas, names.
"""
