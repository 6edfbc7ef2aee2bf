drop table removed_versions;
drop table chunks;
alter table sources drop constraint sources_current_version_exists;
drop table versions;
drop table sources;
