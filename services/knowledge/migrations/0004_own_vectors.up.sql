-- The writer brought the vectors along, so no embedder of ours may replace them.
alter table versions add column own_vectors boolean not null default false;
-- of those there are, only uploads are known to have none of their own
update versions set own_vectors = embedding_model is not null and content_hash not like 'file:%';

-- Code points at the beginning of a passage that are not its own: the title line, and what it repeats of the passage before.
alter table chunks add column repeated integer not null default 0;
