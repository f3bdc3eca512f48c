-- Random identifiers from random(), of which `SET seed` fixes the session's sequence; random(), random_normal() and setseed()
-- themselves need no replacement. A session without a seed draws from the system's entropy, as always.
-- https://www.postgresql.org/docs/18/functions-math.html#FUNCTIONS-MATH-RANDOM-TABLE

-- Version and variant digits stand where RFC 9562 wants them.
CREATE FUNCTION gen_random_uuid() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL RESTRICTED COST 1
RETURN overlay(
    overlay(md5(random()::text || ' ' || random()::text) PLACING '4' FROM 13)
    PLACING substr('89ab', 1 + floor(random() * 4)::integer, 1) FROM 17
)::uuid;
