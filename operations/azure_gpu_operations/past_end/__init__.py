"""Things that lie past their end: which they are, why some stay, and how the others are taken down."""
