-- what trends count, and actions by their beginning
create index audit_entries_days on audit_entries (org_id, created_at) include (status);
create index audit_entries_org_action on audit_entries (org_id, action text_pattern_ops, id desc);
create index audit_entries_action on audit_entries (action text_pattern_ops, id desc);
