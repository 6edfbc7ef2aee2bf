alter table error_groups
  add column resolved_at timestamptz,
  add column resolved_by text,
  -- the event that opened it, or opened it again
  add column opened_by uuid;
create index error_groups_org on error_groups (org_id, last_seen desc, id desc);

-- Messages to chat webhooks that are still to be sent; a row goes with its message.
create table error_alerts (
  group_id uuid not null references error_groups on delete cascade,
  target text not null constraint error_alerts_target check (target in ('org', 'deployment')),
  -- it was there before and had been resolved
  returned boolean not null,
  due_at timestamptz not null default now(),
  attempts integer not null default 0,
  -- more than the messages of an hour: told of in a sum
  held boolean not null default false,
  primary key (group_id, target)
);
create index error_alerts_due on error_alerts (due_at);
