import { type AppDeps, createApp } from '@guildhall/service/app'

/** The bot has no routes: its probes alone. */
export const buildApp = (frame: AppDeps) => createApp(frame)
