-- The runs on servers that have no history list: they say so once, and no sample of theirs has one.
SELECT r.run_id
FROM runs r ANTI JOIN (FROM server_samples WHERE history_list_length IS NOT NULL) USING (run_id)
WHERE json_extract_string(r.null_reasons, '$."steps.history_list_length"') IS NOT NULL
