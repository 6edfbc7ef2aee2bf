drop table pending_actions;
drop table relations;
drop table nodes;
drop table memories;
drop table messages;
drop table conversations;
