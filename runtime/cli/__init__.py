"""The command line: results on stdout, progress and logs on stderr."""
