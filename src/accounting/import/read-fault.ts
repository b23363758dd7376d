import { userInfo } from 'node:os';

function caller(): string {
  try {
    return `"${userInfo().username}"`;
  } catch {
    // No name service knows the user.
    return `uid ${process.geteuid?.() ?? '?'}`;
  }
}

/** Why an accounting file, or the directory of such files, can't be read, with its fix. */
export function readFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'it does not exist; check the name';
  if (code === 'EACCES')
    return `permission denied for user ${caller()}; let that user read it and enter its directory (root reads as the user that "deliver_as" in qmemacct.toml names)`;
  if (code?.startsWith('Z_')) return `it is damaged (${message}); what could be unpacked before that is imported`;
  return message;
}
