drop table account_links;
drop table member_sessions;
