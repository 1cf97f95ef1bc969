"""PostgreSQL: its program and option file, its driver, what is sampled of it, and its configurations."""
