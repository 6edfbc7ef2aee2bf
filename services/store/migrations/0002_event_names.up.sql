-- An event is found by its name however its letters are written.
create index ledger_of_event_name on ledger (org_id, lower(event));
drop index ledger_of_event;
