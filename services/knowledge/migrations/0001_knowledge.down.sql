drop table index_removals;
drop table chunks;
alter table sources drop constraint sources_current_version;
drop table versions;
drop table sources;
