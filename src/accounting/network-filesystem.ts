import { readFileSync, realpathSync } from 'node:fs';

/** Types that several hosts can mount at once. */
const NETWORK =
  /^(?:nfs4?|cifs|smb3|smbfs|lustre|gpfs|beegfs|ceph|glusterfs|pvfs2|orangefs|panfs|wekafs|afs|9p|fuse(?:\..*)?)$/;
/** Local in spite of their `fuse.` name. */
const LOCAL_FUSE = new Set(['fuse.fuse-overlayfs', 'fuse.gvfsd-fuse', 'fuse.lxcfs']);

/** Octal escapes of mountinfo: `\040` is a space. */
function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(parseInt(octal, 8)));
}

/** Type of the file system that holds an absolute, resolved path, by the text of /proc/self/mountinfo. */
export function filesystemType(path: string, mountinfo: string): string | null {
  let best: { readonly point: string; readonly type: string } | null = null;
  for (const line of mountinfo.split('\n')) {
    const [left, right] = line.split(' - ');
    const point = left?.split(' ')[4];
    const type = right?.split(' ')[0];
    if (point === undefined || type === undefined) continue;
    const place = unescaped(point);
    const holds = place === '/' || path === place || path.startsWith(`${place}/`);
    // Of two mounts on one point the later line is on top.
    if (holds && (best === null || place.length >= best.point.length)) best = { point: place, type };
  }
  return best?.type ?? null;
}

/** The type of the network file system that holds `path`; null where the file system is local. */
export function networkFilesystem(path: string): string | null {
  const type = filesystemType(realpathSync(path), readFileSync('/proc/self/mountinfo', 'utf8'));
  return type !== null && NETWORK.test(type) && !LOCAL_FUSE.has(type) ? type : null;
}
