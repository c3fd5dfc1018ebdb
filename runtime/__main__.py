"""`python -m runtime`."""

from runtime.cli.main import run

if __name__ == "__main__":
    run()
