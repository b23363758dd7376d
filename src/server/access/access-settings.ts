import { fileState } from '../../base/file-state';
import { reasonOf } from '../../base/user-error';
import { logChanges } from '../../base/log';
import { loadSettings, type Settings } from '../../record/settings';

/** The settings that say what a caller may see. */
export type AccessSettings = Pick<Settings, 'serve_names' | 'serve_admins' | 'serve_tokens' | 'visibility'>;

const accessOf = ({ serve_names, serve_admins, serve_tokens, visibility }: AccessSettings): AccessSettings => ({
  serve_names,
  serve_admins,
  serve_tokens,
  visibility,
});

/**
 * What callers may see, by the current configuration file. A change takes effect when two looks in a row have seen the
 * same file: one that is still being written could open everything. A file that is gone or can't be used changes
 * nothing.
 */
export class FollowedAccess {
  private readonly logProblem: (problem: string | null) => void;
  private latest: AccessSettings;
  private seen = '';
  private read: string;

  /** `settings`: as they were read; the file may have changed since, so the first looks read it again. */
  constructor(
    private readonly path: string,
    settings: AccessSettings,
    private readonly log: (line: string) => void,
  ) {
    this.logProblem = logChanges(log, `${path} can be used again`);
    this.latest = accessOf(settings);
    this.read = fileState(path) === 'ENOENT' ? 'ENOENT' : '';
  }

  readonly current = (): AccessSettings => this.latest;

  /** To be called every second. */
  look(): void {
    const state = fileState(this.path);
    const stands = state === this.seen;
    this.seen = state;
    if (!stands || state === this.read) return;
    this.read = state;
    this.logProblem(this.take(state));
  }

  /** Reads the file. Returns why it can't be used; null: it can. */
  private take(state: string): string | null {
    const stays = 'what callers may see stays as it was';
    if (state === 'ENOENT') return `${this.path} is gone; ${stays}`;
    try {
      const next = accessOf(loadSettings(this.path));
      if (JSON.stringify(next) !== JSON.stringify(this.latest))
        this.log(`by ${this.path} visibility is now "${next.visibility}", serve_names "${next.serve_names}"`);
      this.latest = next;
      return null;
    } catch (error) {
      return `${reasonOf(error)}; ${stays}`;
    }
  }
}
