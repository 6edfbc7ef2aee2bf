drop index orders_of_day;
drop index memberships_of_day;
drop index ledger_of_day;
