export { parseRecord } from '../record/record';
export { BRACKET_SOURCES, OPEN_REASONS, RECORD_LIMITS, STATUSES, TRUSTS } from '../record/fields';
