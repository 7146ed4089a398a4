"""`operations query`: sends images and arrays to an endpoint, and shows its answers and their latency."""
