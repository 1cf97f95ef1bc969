"""What is sampled of PostgreSQL only."""
