import type { App, Deployment } from '@guildhall/contracts/apps'
import type { AppRow, DeploymentRow } from '../db.ts'
import type { WithPod } from './queries.ts'

export function shownApp(row: WithPod<AppRow>): App {
  const { name, manifest, repo, manifest_path, current_tag, pod_id } = row
  const { kind, description, url = null } = manifest
  return {
    ...{ name, kind, description, url, manifest, repo, manifest_path, current_tag, pod_id },
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

export function shownDeployment(row: WithPod<DeploymentRow>): Deployment {
  const { id, tag, ref, commit, state, error, rollback, pod_id, created_by } = row
  return {
    ...{ id, tag, ref, commit, state, error, rollback, pod_id, created_by },
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  }
}
