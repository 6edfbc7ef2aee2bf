-- whose run it is, where its arguments name an org
alter table job_runs add column org_id integer;
update job_runs set org_id = (args->>'org_id')::integer where args->>'org_id' ~ '^[1-9][0-9]{0,8}$';
-- lists are newest first; ids are UUIDv7 and so in the order of time
create index job_runs_of_org on job_runs (org_id, id desc) where org_id is not null;
