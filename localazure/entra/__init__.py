"""Microsoft Entra ID, as far as a client with a secret meets it: discovery, signing keys, tokens."""
