"""The calculator: one page and a small HTTP interface on the same engine. Needs the extra 'web'."""
