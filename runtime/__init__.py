"""The service: keeps the llms.txt of every enrolled site in step with the site."""
