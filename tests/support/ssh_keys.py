"""A public SSH key whose private one was never kept."""

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIf5brqnNQHGzLjkqraUF8izv5/PuTQziv4YaiROCxUB nobody"
