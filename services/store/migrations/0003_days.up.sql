-- what was awarded lately, for the dashboard
create index ledger_of_day on ledger (org_id, created_at) include (points, kind);
create index memberships_of_day on memberships (org_id, created_at);
create index orders_of_day on orders (org_id, created_at) where not deleted;
