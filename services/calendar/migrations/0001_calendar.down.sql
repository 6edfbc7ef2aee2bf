drop table runs;
drop table assignments;
drop table settings;
