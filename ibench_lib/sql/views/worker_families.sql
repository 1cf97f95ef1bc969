-- The families of operations that each worker of a step sent; `alone` if there is only one. If the manifest of a run
-- does not name its operations, the worker's role determines the family.
WITH sent AS (
    SELECT w.run_id, w.step_id, w.worker, o.family FROM workers w JOIN operations o USING (run_id, role)
    UNION
    SELECT e.run_id, e.step_id, e.worker, o.family
    FROM response_histograms e JOIN operations o USING (run_id, operation) WHERE e.timing = 'service' AND o.role IS NULL
)
SELECT *, count(*) OVER (PARTITION BY run_id, step_id, worker) = 1 AS alone FROM sent
