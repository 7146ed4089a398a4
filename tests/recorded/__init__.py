"""Answers of the real Azure that the embedded one is held to: replayed sessions, and tables of what they show."""
