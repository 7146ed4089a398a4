"""`catalog`: how old the packaged catalog's lists are, and refreshing them from Azure and from Microsoft's published pages."""
