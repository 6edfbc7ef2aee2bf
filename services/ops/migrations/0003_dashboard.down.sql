drop table ci_repos;
drop table resolved_notifications;
