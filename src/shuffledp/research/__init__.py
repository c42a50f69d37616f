"""For readers of the literature: its tables and figures again,
and an atlas of where its bounds hold."""
