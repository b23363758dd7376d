import { JOB_SPAN_MS } from '../../record/facts';

/**
 * Number of the name that a record counts under. Grid Engine calls each task of a parallel job "petask" where it runs, so
 * that its record has no name until its accounting line comes: it counts under that of its job's master, of several (runs,
 * or a number that came again) of the nearest in time.
 */
export const JOB_NAME_ID = `coalesce(r.job_name_id, CASE WHEN r.pe_task_id IS NOT NULL THEN (
      SELECT m.job_name_id FROM record m INDEXED BY record_by_job JOIN job_name n ON n.id = m.job_name_id
      WHERE m.job_id = r.job_id AND m.task_id IS r.task_id AND m.pe_task_id IS NULL AND m.cluster_id = r.cluster_id
      AND m.owner_id IS r.owner_id
      AND m.counted_at BETWEEN r.counted_at - ${JOB_SPAN_MS} AND r.counted_at + ${JOB_SPAN_MS}
      ORDER BY abs(m.counted_at - r.counted_at), n.name LIMIT 1) END)`;
