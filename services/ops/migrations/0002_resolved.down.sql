drop table error_alerts;
drop index error_groups_org;
alter table error_groups drop column resolved_at, drop column resolved_by, drop column opened_by;
