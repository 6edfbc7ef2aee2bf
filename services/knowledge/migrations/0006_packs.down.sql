drop table pack_results;
alter table crawls drop column retired;
