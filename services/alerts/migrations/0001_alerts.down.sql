drop table alert_runs;
drop table items;
drop table feeds;
