"""The SQL that families of servers have in different forms: a module for each family, with what `mysql.py` has."""
