drop table deployments;
drop table apps;
update pods set created_by = '00000' where created_by is null;
alter table pods alter column created_by set not null;
