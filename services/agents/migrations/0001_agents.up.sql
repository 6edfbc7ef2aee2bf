-- The owner of every row is a member of an org: (org_id, chat_user_id). The same person in two orgs is two owners.
create table conversations (
  -- of the agent's choosing; one id is one owner's, whatever the org
  id uuid primary key,
  org_id integer not null,
  chat_user_id text not null,
  channel_id text not null,
  visibility text not null constraint conversations_visibility check (visibility in ('public', 'private')),
  state text not null default 'open' constraint conversations_state check (state in ('open', 'ended')),
  -- counted under the lock of this row, so that numbers have no gaps
  last_seq integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index conversations_of_member on conversations (org_id, chat_user_id, id);
create index conversations_latest on conversations (org_id, chat_user_id, channel_id, updated_at)
  where state = 'open';
create index conversations_old on conversations (updated_at);

-- Messages and summaries share the numbers of their conversation.
create table messages (
  conversation uuid not null constraint messages_conversation references conversations (id) on delete cascade,
  seq integer not null,
  role text not null
    constraint messages_role check (role in ('system', 'user', 'assistant', 'tool', 'summary')),
  -- json, not jsonb: what was sent comes back as it was
  content json not null,
  -- of a summary: the last seq that it replaces
  covers integer,
  created_at timestamptz not null,
  primary key (conversation, seq),
  constraint messages_covers check ((role = 'summary') = (covers is not null))
);
create index messages_summaries on messages (conversation, seq) where role = 'summary';

create table memories (
  id uuid primary key,
  org_id integer not null,
  chat_user_id text not null,
  kind text not null
    constraint memories_kind check (kind in ('episodic', 'semantic', 'profile', 'task')),
  -- exactly one of the two: what is sensitive is sealed
  content text,
  sealed_content text,
  confidence double precision not null constraint memories_confidence check (confidence between 0 and 1),
  source_seq integer,
  expires_at timestamptz,
  created_at timestamptz not null,
  constraint memories_sealed check ((content is null) <> (sealed_content is null))
);
create index memories_best on memories (org_id, chat_user_id, confidence desc, id desc);
create index memories_end on memories (expires_at) where expires_at is not null;

create table nodes (
  id uuid primary key,
  org_id integer not null,
  chat_user_id text not null,
  kind text not null,
  label text not null,
  -- 1 024 numbers of 32 bits, little-endian, of the text `kind: label`; made when the profile is searched
  vector bytea,
  vector_model text,
  updated_at timestamptz not null,
  constraint nodes_label unique (org_id, chat_user_id, kind, label),
  constraint nodes_vector check ((vector is null) = (vector_model is null))
);
create index nodes_folded on nodes (org_id, chat_user_id, lower(label));
create index nodes_newest on nodes (org_id, chat_user_id, updated_at desc);

create table relations (
  id uuid primary key,
  org_id integer not null,
  chat_user_id text not null,
  subject uuid not null constraint relations_subject references nodes (id) on delete cascade,
  relation text not null,
  object uuid not null constraint relations_object references nodes (id) on delete cascade,
  confidence double precision not null constraint relations_confidence check (confidence between 0 and 1),
  constraint relations_once unique (subject, relation, object)
);
create index relations_best on relations (org_id, chat_user_id, confidence desc, id desc);
create index relations_to on relations (object);

create table pending_actions (
  -- of the agent's choosing; one id is one owner's, whatever the org
  id uuid primary key,
  org_id integer not null,
  chat_user_id text not null,
  action json not null,
  payload_hash text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  answered_at timestamptz,
  approved boolean,
  constraint pending_actions_answer check ((answered_at is null) = (approved is null))
);
create index pending_actions_of_member on pending_actions (org_id, chat_user_id, id);
create index pending_actions_end on pending_actions (expires_at);
