"""How sysbench reaches the servers of a family: a module for each, with what `mysql.py` has."""
