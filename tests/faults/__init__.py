"""What happens when something fails: every port at every call, every process at every step."""
