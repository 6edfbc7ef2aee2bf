import type { ChatWebhook, Repo } from './world.ts'

/** Whose job list Demo Club's alert feed reads. */
export const DEMO_LIST = 'demo-club/internships'
const COMMIT = 'f'.repeat(40)
const DAY_MS = 86_400_000
const at = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()

/** The webhook of the channel to which Demo Club's feeds post. */
export const demoWebhook = (token: string): ChatWebhook => ({
  id: '584402700000000001',
  token,
  messages: [],
  asked: 0,
})

/** A list of jobs as students keep them: one is closed, and one a week old. */
export function demoList(): Repo {
  const rows = [
    '| Acme | Backend Intern | Riga | [Apply](https://acme.example/jobs/1?utm_source=list) | 0d |',
    '| ↳ | Data Intern | Remote | [Apply](https://acme.example/jobs/2) | 0d |',
    '| Globex | Platform Intern 🛂 | Oslo</br>Bergen | <a href="https://globex.example/7">Apply</a> | 1d |',
    '| Initech | Web Intern | Austin | 🔒 | 1d |',
    '| Hooli | Mobile Intern | Porto | [Apply](https://hooli.example/9) | 7d |',
  ]
  const head = '| Company | Role | Location | Application/Link | Date Posted |'
  const text = ['# Internships', '', head, '| --- | --- | --- | --- | --- |', ...rows].join('\n')
  const files = { [COMMIT]: { 'README.md': text } }
  const branch = { default_branch: 'main', refs: { main: COMMIT } }
  return { name: DEMO_LIST, private: false, ...branch, files }
}

/** What the sources of hackathons answer; Hackalist has nothing for these months. */
export const demoHackathons = () => ({
  hackclub: [
    {
      ...{ name: 'Demo Hacks', website: 'https://hacks.example/', start: at(20), end: at(21) },
      ...{ city: 'Oslo', country: 'Norway', virtual: false, hybrid: false },
    },
  ],
  euro: {
    data: [
      {
        ...{ name: 'Example Jam', url: 'https://jam.example/', location: 'Online' },
        ...{ date_start: at(35).slice(0, 10), date_end: at(36).slice(0, 10) },
      },
    ],
  },
})
