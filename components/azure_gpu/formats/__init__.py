"""What is read: dates, ids, image references, Dockerfiles, tag keys. Pure functions; no Pulumi, no network."""
