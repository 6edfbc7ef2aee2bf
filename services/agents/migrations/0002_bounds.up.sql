-- Of the content as JSON, so that answers are bounded without reading what they leave out. Null in older rows, which
-- are measured as they are read.
alter table messages add column bytes integer;

-- Expired memories are passed over in the index; see memories/queries.ts.
drop index memories_best;
create index memories_best on memories
  (org_id, chat_user_id, confidence desc, id desc, coalesce(expires_at, 'infinity'::timestamptz));

-- The export and the pages of a profile go by id.
create index nodes_of_member on nodes (org_id, chat_user_id, id);
create index relations_of_member on relations (org_id, chat_user_id, id);
create index memories_of_member on memories (org_id, chat_user_id, id);

-- What a member sees of what is held: the newest first.
create index conversations_newest on conversations (org_id, chat_user_id, updated_at desc, id);
create index pending_actions_newest on pending_actions (org_id, chat_user_id, created_at desc, id);
