"""Images of nodes and machines: from the Marketplace, from a gallery, or built for the stack."""
