"""How notebooks show a Dataset."""
