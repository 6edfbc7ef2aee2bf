drop table crawl_hosts;
drop table crawls;
