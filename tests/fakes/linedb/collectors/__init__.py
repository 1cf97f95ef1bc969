"""What is sampled of its servers."""
