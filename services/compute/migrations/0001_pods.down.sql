drop table pods;
