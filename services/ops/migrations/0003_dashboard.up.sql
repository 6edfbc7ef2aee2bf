-- What officers have seen to. The id is made of the kind, the key and the message: a changed one is another.
create table resolved_notifications (
  org_id integer not null,
  id text not null,
  resolved_at timestamptz not null,
  resolved_by text not null,
  primary key (org_id, id)
);

create table ci_repos (
  org_id integer primary key,
  repos text[] not null
);
