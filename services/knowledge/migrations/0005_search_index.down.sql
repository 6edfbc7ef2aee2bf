drop index sources_next_stale;
alter table sources drop column next_stale;
drop table search_index;
