CREATE TABLE jobs (
    id      integer PRIMARY KEY,
    payload text NOT NULL,
    state   text NOT NULL
);
