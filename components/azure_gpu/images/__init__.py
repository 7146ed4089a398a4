"""Images that nodes and machines start from: of the Marketplace, of a gallery, or built for the stack."""
