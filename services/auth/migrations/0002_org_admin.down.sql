drop table secrets;
drop table reserved_prefixes;
alter table orgs drop column logo_url, drop column accent_color, drop column website_url;
