-- The three database roles of DocMemo, the database, and who may do what in it.
--
-- Run it with psql as a role that may create roles and databases (no superuser is needed where the
-- provider allows CREATE EXTENSION vector), with the passwords in the environment:
--
--   DOCMEMO_DATABASE=docmemo DOCMEMO_MIGRATOR_PASSWORD=... DOCMEMO_WRITER_PASSWORD=... \
--   DOCMEMO_READER_PASSWORD=... psql -X -v ON_ERROR_STOP=1 -f ops/roles.sql "$ADMIN_URL"
--
-- It may be run again: roles that exist get the password given. The embedded default runs this file too.

\getenv database DOCMEMO_DATABASE
\getenv migrator_password DOCMEMO_MIGRATOR_PASSWORD
\getenv writer_password DOCMEMO_WRITER_PASSWORD
\getenv reader_password DOCMEMO_READER_PASSWORD

SET client_min_messages = warning;

SELECT format('CREATE ROLE %I LOGIN', name)
FROM (VALUES ('docmemo_migrator'), ('docmemo_writer'), ('docmemo_reader')) AS wanted (name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)
\gexec

-- The migrator owns the tables; the writer is the application; the reader serves the evidence door.
-- None of them is a superuser or passes row security by: a new role is neither unless it is made so.
ALTER ROLE docmemo_migrator PASSWORD :'migrator_password';
ALTER ROLE docmemo_writer PASSWORD :'writer_password';
ALTER ROLE docmemo_reader PASSWORD :'reader_password';
ALTER ROLE docmemo_reader SET default_transaction_read_only = on;

GRANT docmemo_migrator TO CURRENT_USER;

SELECT format('CREATE DATABASE %I OWNER docmemo_migrator', :'database')
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'database')
\gexec

\connect :database
SET client_min_messages = warning;

CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;

SELECT format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', :'database')
\gexec
SELECT format('GRANT CONNECT ON DATABASE %I TO docmemo_migrator, docmemo_writer, docmemo_reader', :'database')
\gexec

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO docmemo_writer, docmemo_reader;
GRANT USAGE, CREATE ON SCHEMA public TO docmemo_migrator;

-- Tables to come. Migrations take back what a special table must not give, such as changes to the audit.
ALTER DEFAULT PRIVILEGES FOR ROLE docmemo_migrator IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO docmemo_writer;
ALTER DEFAULT PRIVILEGES FOR ROLE docmemo_migrator IN SCHEMA public
    GRANT SELECT ON TABLES TO docmemo_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE docmemo_migrator IN SCHEMA public
    GRANT USAGE, SELECT ON SEQUENCES TO docmemo_writer;
