"""What is sampled of the family's servers, a module for each collector."""
