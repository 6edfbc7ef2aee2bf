import { runProcess } from '@guildhall/service/run'
import { readConfig } from './config.ts'
import { start } from './main.ts'
import { LOOPBACK } from './testing.ts'

/** The process of main.ts, whose crawls reach the sites of tests: for tests that kill it. */
await runProcess('knowledge', () => start(readConfig(), undefined, LOOPBACK))
