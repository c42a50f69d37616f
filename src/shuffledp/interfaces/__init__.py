"""Ways in for people: the command line and the page."""
