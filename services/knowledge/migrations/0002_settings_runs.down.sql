drop table runs;
drop table settings;
