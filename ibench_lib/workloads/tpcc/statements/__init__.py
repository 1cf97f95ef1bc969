"""The SQL that families of servers have in different forms: a module for each family, with what `mysql.py` has.

The statements of the transactions and of the checks are the same for all (`profiles.py`, `checks.py`).
"""
