drop table chat_servers;
