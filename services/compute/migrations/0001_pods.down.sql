drop table settings;
drop table user_folders;
drop table certificates;
drop table org_keys;
drop table sessions;
drop table pods;
