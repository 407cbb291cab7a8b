"""What a Dataset is made of: sources and operators, and what they become."""
