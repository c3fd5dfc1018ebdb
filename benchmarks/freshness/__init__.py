"""How fresh do published files stay, for how many crawls? The product's schedule against others, on made-up sites."""
