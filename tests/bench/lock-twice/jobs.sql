SELECT id AS job,
       NULL::text AS key,
       NULL::text AS "group",
       state,
       NULL::text AS owner,
       NULL::text AS token,
       0 AS attempts,
       1 AS max_attempts,
       NULL::timestamptz AS available_at,
       NULL::timestamptz AS claimed_at,
       NULL::timestamptz AS lease_until,
       NULL::timestamptz AS completed_at,
       id
FROM jobs;
