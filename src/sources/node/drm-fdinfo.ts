import { sumOfKnown } from '../../base/known';
import { GIB, MIB } from '../../base/units';

/** What a DRM driver says of one open descriptor in /proc/PID/fdinfo/FD (Documentation/gpu/drm-usage-stats.rst). */
export interface DrmClient {
  readonly driver: string;
  /** PCI address; null for devices on no such bus. */
  readonly pci: string | null;
  /** The same for every descriptor of one client (dup, fork, sent over a socket); null: an old driver. */
  readonly client: string | null;
  readonly videoMemoryBytes: number | null;
  readonly systemMemoryBytes: number | null;
  readonly engines: readonly DrmEngine[];
}

/** Time of an engine: in ns, or in cycles of a clock that counts all its cycles in `totalCycles` (xe). */
export type DrmEngine =
  | { readonly name: string; readonly busyNs: number }
  | { readonly name: string; readonly cycles: number; readonly totalCycles: number };

const FACTOR: Readonly<Record<string, number>> = { '': 1, KiB: 1024, MiB: MIB, GiB: GIB };

function bytesOf(text: string): number | null {
  const match = /^(\d{1,16})(?: (KiB|MiB|GiB))?$/.exec(text);
  if (match === null) return null;
  const value = Number(match[1]) * (FACTOR[match[2] ?? ''] ?? NaN);
  return Number.isSafeInteger(value) ? value : null;
}

function count(text: string | undefined): number | null {
  const value = Number(/^(\d{1,20})(?: ns)?$/.exec(text ?? '')?.[1] ?? NaN);
  return value <= Number.MAX_SAFE_INTEGER ? value : null;
}

/** Names for a region's size, the best first: what is resident now, its older name (drm-memory), and the total. */
const SIZES = ['drm-resident-', 'drm-memory-', 'drm-total-'] as const;

/** The lines of the driver; of a key that comes twice the first. */
function drmLines(text: string): ReadonlyMap<string, string> {
  const lines = new Map<string, string>();
  for (const line of text.split('\n')) {
    const at = line.indexOf(':');
    if (at > 0 && line.startsWith('drm-') && !lines.has(line.slice(0, at)))
      lines.set(line.slice(0, at), line.slice(at + 1).trim());
  }
  return lines;
}

/** Bytes by memory region. */
function regionsIn(lines: ReadonlyMap<string, string>): ReadonlyMap<string, number> {
  const regions = new Map<string, number>();
  for (const size of SIZES)
    for (const [key, value] of lines) {
      // "drm-total-cycles-rcs" is no region.
      if (!key.startsWith(size) || key.startsWith('drm-total-cycles-')) continue;
      const region = key.slice(size.length);
      const bytes = bytesOf(value);
      if (bytes !== null && !regions.has(region)) regions.set(region, bytes);
    }
  return regions;
}

/** Of an engine with both, its time counts, not its cycles. */
function enginesIn(lines: ReadonlyMap<string, string>): readonly DrmEngine[] {
  const engines: DrmEngine[] = [];
  for (const [key, value] of lines) {
    const [, kind, name] = /^drm-(engine|cycles)-(?!capacity-)([\w-]{1,32})$/.exec(key) ?? [];
    const busy = count(value);
    if (name === undefined || busy === null) continue;
    if (kind === 'engine') engines.push({ name, busyNs: busy });
    else if (!lines.has(`drm-engine-${name}`)) {
      const totalCycles = count(lines.get(`drm-total-cycles-${name}`));
      if (totalCycles !== null) engines.push({ name, cycles: busy, totalCycles });
    }
  }
  return engines;
}

const matching = (text: string | undefined, pattern: RegExp): string | null =>
  text !== undefined && pattern.test(text) ? text : null;

/** Null when the text is not of a DRM descriptor. */
export function parseFdinfo(text: string): DrmClient | null {
  const lines = drmLines(text);
  const driver = matching(lines.get('drm-driver'), /^[\w-]{1,32}$/);
  if (driver === null) return null;
  const regions = [...regionsIn(lines)];
  const sum = (video: boolean): number | null => {
    // "vram", "vram0" (amdgpu, xe), "local0" (i915); the rest is "gtt", "cpu", "system", "stolen".
    const found = regions.filter(([region]) => /^(vram|local)\d*$/.test(region) === video);
    return sumOfKnown(found.map(([, bytes]) => bytes));
  };
  return {
    driver,
    pci: matching(lines.get('drm-pdev')?.toLowerCase(), /^[\da-f]{4,8}:[\da-f]{2}:[\da-f]{2}\.[\da-f]$/),
    client: matching(lines.get('drm-client-id'), /^\d{1,20}$/),
    videoMemoryBytes: sum(true),
    systemMemoryBytes: sum(false),
    engines: enginesIn(lines),
  };
}
