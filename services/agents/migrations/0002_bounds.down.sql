drop index pending_actions_newest;
drop index conversations_newest;
drop index memories_of_member;
drop index relations_of_member;
drop index nodes_of_member;
drop index memories_best;
create index memories_best on memories (org_id, chat_user_id, confidence desc, id desc);
alter table messages drop column bytes;
