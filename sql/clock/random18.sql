-- As random.sql, for what PostgreSQL 18 added.

CREATE FUNCTION uuidv4() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL RESTRICTED COST 1
RETURN gen_random_uuid();

-- The 12 bits after the time count the calls of one millisecond, so that the ids of a session ascend as the original's do.
-- simrunner.uuidv7 holds the session's last milliseconds * 4096 + count; a full count borrows from the next millisecond.
CREATE FUNCTION simrunner_uuidv7(at timestamptz, shift interval) RETURNS uuid LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1 AS $$
DECLARE
    last bigint := nullif(current_setting('simrunner.uuidv7', true), '')::bigint;
    moment bigint := floor(extract(epoch FROM at) * 1000)::bigint;
    shifted bigint := floor(extract(epoch FROM at + shift) * 1000)::bigint;
    place bigint := greatest(moment * 4096, last + 1);
    digits text := lpad(to_hex(place + (shifted - moment) * 4096), 15, '0');
BEGIN
    PERFORM set_config('simrunner.uuidv7', place::text, false);
    RETURN (left(digits, 12) || '7' || right(digits, 3)
        || substr('89ab', 1 + floor(random() * 4)::integer, 1)
        || left(md5(random()::text || ' ' || random()::text), 15))::uuid;
END
$$;

CREATE FUNCTION uuidv7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 1
RETURN simrunner_uuidv7(clock_timestamp(), interval '0');

CREATE FUNCTION uuidv7(shift interval) RETURNS uuid LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE COST 1
RETURN simrunner_uuidv7(clock_timestamp(), shift);
