drop index job_runs_of_org;
alter table job_runs drop column org_id;
