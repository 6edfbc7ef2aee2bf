drop index audit_entries_action;
drop index audit_entries_org_action;
drop index audit_entries_days;
