-- The job that asks after deployments is called apps.check_deployments; it runs each minute, so what waited is not missed.
delete from job_runs where job = 'compute.check_deployments' and state in ('queued', 'running');
update job_runs set job = 'apps.check_deployments' where job = 'compute.check_deployments';
