drop table idempotency_keys;
drop table job_runs;
drop table outbox;
