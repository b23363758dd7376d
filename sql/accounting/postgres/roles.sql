-- Run as the admin who sets up the database: needs CREATEROLE, and CREATE on the database, but no superuser. Roles belong
-- to the whole server, so they may exist already.
DO $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY '{qmemacct_owner,qmemacct_deliver,qmemacct_read,qmemacct_project,qmemacct_own}'::text[] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', role);
    END IF;
  END LOOP;
  -- From 16 on, one who creates a role without being a superuser may not SET ROLE to it until granted to do so.
  IF NOT pg_has_role(current_user, 'qmemacct_owner',
    CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END) THEN
    EXECUTE format('GRANT qmemacct_owner TO %I', current_user);
  END IF;
END $$;
CREATE SCHEMA IF NOT EXISTS qmemacct AUTHORIZATION qmemacct_owner;
SET LOCAL ROLE qmemacct_owner;
SET LOCAL search_path = qmemacct, pg_catalog, pg_temp;
-- By default everyone may call a function; here only roles to which that is granted.
ALTER DEFAULT PRIVILEGES FOR ROLE qmemacct_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE qmemacct_owner REVOKE USAGE ON TYPES FROM PUBLIC;
CREATE TABLE IF NOT EXISTS schema_version (
  version    integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);
