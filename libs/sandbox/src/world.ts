/** What the emulated outside services know. Tests change it while it runs. */
export interface World {
  application: { clientId: string; clientSecret: string; botToken: string }
  users: WorldUser[]
  guilds: Guild[]
  faults: {
    /** `down` answers 503, `slow` after ten seconds, `rate_limited` 429. */
    chat?: 'down' | 'slow' | 'rate_limited' | undefined
    embeddings?: 'down' | undefined
  }
}

export interface WorldUser {
  id: string
  username: string
  /** What the authorize page says of the person. */
  about: string
  bot?: true
}

export interface Guild {
  id: string
  name: string
  ownerId: string
  roles: Role[]
  members: { userId: string; nick?: string; roleIds: string[] }[]
}

export interface Role {
  id: string
  name: string
  position: number
  /** Made by the platform for a bot. */
  managed?: true
}
