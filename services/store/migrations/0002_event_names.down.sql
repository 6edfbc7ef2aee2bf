create index ledger_of_event on ledger (org_id, event);
drop index ledger_of_event_name;
