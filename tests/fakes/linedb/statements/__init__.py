"""Its SQL for each workload."""
