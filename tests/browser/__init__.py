"""A real Chromium for tests of pages: how it comes onto a machine, and how a test drives it."""
