import { type AppDeps, createApp } from '@guildhall/service/app'
import type { Deps } from './deps.ts'

export function buildApp(frame: AppDeps, _deps: Deps) {
  return createApp(frame)
}
