import { tryEveryRoute } from './access.ts'

tryEveryRoute(false)
