import type { World } from './world.ts'

/** Whom a newcomer can sign in as. */
export const people = {
  officer: { id: '184402700000000001', username: 'olivia', about: 'officer of Demo Club' },
  member: { id: '184402700000000002', username: 'milo', about: 'member of Demo Club' },
  superadmin: {
    id: '184402700000000003',
    username: 'sofia',
    about: 'superadmin, officer of no club',
  },
  stranger: { id: '184402700000000004', username: 'stan', about: 'in no club' },
  rivalOfficer: { id: '184402700000000005', username: 'rowan', about: 'officer of Rival Club' },
}

/** The chat servers and the role that makes an officer. */
export const servers = {
  demo: { id: '284402700000000001', officerRoleId: '384402700000000001' },
  rival: { id: '284402700000000002', officerRoleId: '384402700000000011' },
}

const BOT_ID = '184402700000000009'
const MEMBER_ROLE = '384402700000000002'

/** A new world: two chat servers with their officers, a member, a superadmin and a stranger. */
export function demoWorld(): World {
  return {
    application: {
      clientId: '484402700000000001',
      clientSecret: 'sandbox-client-secret',
      botToken: 'sandbox.bot.token',
    },
    users: [
      ...Object.values(people),
      { id: BOT_ID, username: 'guildhall', about: 'the bot', bot: true },
    ],
    guilds: [
      {
        id: servers.demo.id,
        name: 'Demo Club',
        ownerId: people.officer.id,
        roles: [
          { id: servers.demo.id, name: '@everyone', position: 0 },
          { id: servers.demo.officerRoleId, name: 'Officer', position: 3 },
          { id: MEMBER_ROLE, name: 'Member', position: 1 },
          { id: '384402700000000003', name: 'guildhall', position: 2, managed: true },
        ],
        members: [
          {
            userId: people.officer.id,
            nick: 'Olivia',
            roleIds: [servers.demo.officerRoleId, MEMBER_ROLE],
          },
          { userId: people.member.id, roleIds: [MEMBER_ROLE] },
          { userId: BOT_ID, roleIds: ['384402700000000003'] },
        ],
      },
      {
        id: servers.rival.id,
        name: 'Rival Club',
        ownerId: people.rivalOfficer.id,
        roles: [
          { id: servers.rival.id, name: '@everyone', position: 0 },
          { id: servers.rival.officerRoleId, name: 'Officer', position: 1 },
        ],
        members: [
          { userId: people.rivalOfficer.id, roleIds: [servers.rival.officerRoleId] },
          { userId: BOT_ID, roleIds: [] },
        ],
      },
    ],
    faults: {},
  }
}
