drop table ticks;
drop table error_events_seen;
drop table error_groups;
drop table audit_entries;
