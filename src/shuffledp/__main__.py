"""python -m shuffledp: the command line."""

from shuffledp.cli import main

main(prog_name="shuffledp")
