update job_runs set job = 'compute.check_deployments' where job = 'apps.check_deployments';
