update job_runs set job = 'knowledge.crawl' where job = 'knowledge.crawl_source';
