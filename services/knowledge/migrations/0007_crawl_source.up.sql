-- The job of one crawl is called knowledge.crawl_source. What still waited under the old name is told as failed, because
-- nobody takes it any more: it can be run again, and a due source is crawled by the next tick anyhow.
update job_runs set
  state = case when state in ('queued', 'running') then 'failed' else state end,
  finished_at = coalesce(finished_at, now()),
  error = case when state in ('queued', 'running') then 'The update of Guildhall came between. Run it again.' else error end,
  job = 'knowledge.crawl_source'
where job = 'knowledge.crawl';
