drop table pod_actions;
