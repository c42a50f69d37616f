"""python -m shuffledp: the command line."""

from shuffledp.interfaces.cli import main

main(prog_name="shuffledp")
