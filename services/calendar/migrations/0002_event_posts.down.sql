drop table event_posts;
drop table post_settings;
