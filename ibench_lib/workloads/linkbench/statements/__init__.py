"""The SQL of the operations: a module for each family of servers, with what `mysql.py` has."""
