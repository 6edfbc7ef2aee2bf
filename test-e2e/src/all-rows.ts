import { services } from '@guildhall/contracts/names'
import { withClient } from '@guildhall/db/shapes'

/** Every row of every table of the services as JSON, sorted, by `schema.table`; a journey never reads tables, a backup is judged by them. */
export const allRows = (databaseUrl: string) =>
  withClient(databaseUrl, async (client) => {
    const tables = await client.query<{ name: string }>(
      `select table_schema || '.' || table_name as name from information_schema.tables
        where table_schema = any($1) and table_type = 'BASE TABLE' order by 1`,
      [services],
    )
    const all: Record<string, string[]> = {}
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ row: string }>(
        `select to_jsonb(t)::text as row from ${name} t order by 1`,
      )
      all[name] = rows.map(({ row }) => JSON.stringify(JSON.parse(row)))
    }
    return all
  })

/** The make of every schema: columns, constraints, indexes and triggers, as Postgres writes them. */
export const allStructure = (databaseUrl: string) =>
  withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ line: string }>(
      `select table_schema || '.' || table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable
          || ' ' || coalesce(column_default, '') as line
        from information_schema.columns where table_schema = any($1)
      union all select n.nspname || '.' || c.relname || ' ' || k.conname || ' ' || pg_get_constraintdef(k.oid)
        from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = any($1)
      union all select indexdef from pg_indexes where schemaname = any($1)
      union all select pg_get_triggerdef(g.oid) || ' ' || g.tgenabled::text
        from pg_trigger g join pg_class c on c.oid = g.tgrelid join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = any($1) and not g.tgisinternal
      order by 1`,
      [services],
    )
    return rows.map(({ line }) => line)
  })
