"""A documentation site to try the service on: made up, but with all that makes real sites hard to read."""
