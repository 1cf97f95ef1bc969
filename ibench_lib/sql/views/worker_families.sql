-- The families of operations that each worker of a step sent; `alone` if there is only one. If the manifest of a run
-- does not name its operations, the worker's role determines the family. A driven program of which no second is known has
-- done operations of its step's main family.
WITH sent AS (
    SELECT w.run_id, w.step_id, w.worker, o.family FROM workers w JOIN operations o USING (run_id, role)
    UNION
    SELECT e.run_id, e.step_id, e.worker, o.family
    FROM response_histograms e JOIN operations o USING (run_id, operation) WHERE e.timing = 'service' AND o.role IS NULL
    UNION
    SELECT w.run_id, w.step_id, w.worker, k.main
    FROM workers w JOIN steps s USING (run_id, step_id) JOIN kinds k ON k.run_id = s.run_id AND k.kind = s.kind
    WHERE w.ops_from IS NOT NULL
        AND NOT EXISTS (FROM ops o WHERE (o.run_id, o.step_id, o.worker) = (w.run_id, w.step_id, w.worker))
)
SELECT *, count(*) OVER (PARTITION BY run_id, step_id, worker) = 1 AS alone FROM sent
