"""Blob storage of the embedded Azure: Azurite keeps the blobs, and the path in front of it decides who may do what with them."""
