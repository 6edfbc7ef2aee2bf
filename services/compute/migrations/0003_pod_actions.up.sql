-- What was asked of a pod, from before the pod host is told until it is known how it went.
create table pod_actions (
  id uuid primary key,
  pod uuid not null constraint pod_actions_pod references pods (id) on delete cascade,
  action text not null
    constraint pod_actions_action check (action in ('start', 'stop', 'restart', 'terminate')),
  -- who asked, as the audit line says it
  asked_by jsonb not null,
  asked_at timestamptz not null,
  -- something else was asked of the pod since: this is not done any more
  superseded boolean not null default false
);
create index pod_actions_of_pod on pod_actions (pod);
