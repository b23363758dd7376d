import assert from 'node:assert/strict';
import { it } from 'node:test';
import { filesystemType, networkFilesystem } from '../../src/accounting/network-filesystem';

const MOUNTINFO = `22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw
30 22 0:26 / /share rw shared:2 master:1 - nfs4 server:/export rw,vers=4.2
31 30 0:27 / /share/my\\040files rw - lustre mgs@tcp:/fs rw
32 22 0:28 / /over rw - ext4 /dev/sdb rw
33 22 0:29 / /over rw - fuse.sshfs host:/ rw
not a line of mountinfo
`;

it('filesystemType is that of the mount that holds a path', () => {
  const type = (path: string): string | null => filesystemType(path, MOUNTINFO);
  assert.equal(type('/var/lib/accounting.db'), 'ext4');
  assert.equal(type('/share/accounting.db'), 'nfs4');
  assert.equal(type('/shared/accounting.db'), 'ext4');
  assert.equal(type('/share/my files/accounting.db'), 'lustre');
  assert.equal(type('/over/accounting.db'), 'fuse.sshfs');
  assert.equal(filesystemType('/x', ''), null);
});

it("networkFilesystem reads this host's own mounts", () => {
  assert.equal(networkFilesystem('/proc'), null);
});
