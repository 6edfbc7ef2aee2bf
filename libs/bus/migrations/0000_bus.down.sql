drop table job_runs;
drop table outbox;
