"""Other accountants: dp-accounting, Opacus, OpenDP. Each module needs its library,
none is imported here."""
