"""Real servers that the tests start, and sites that they make up."""
