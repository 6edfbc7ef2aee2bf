drop table imports;
drop table ledger;
drop function ledger_moves();
drop table order_items;
drop table orders;
drop table products;
drop table memberships;
drop table people;
