import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';
import { runProgram } from '../../../src/cli/program';
import { AT } from '../../live/snapshots';
import { missingTools } from '../../support/packages';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakeLiveSources } from '../fake-live-sources';
import { fakeTerminal } from '../fake-terminal';

/** From Debian's package gridengine-client. */
const SCHEMA = '/usr/share/gridengine/util/resources/schemas/qstat/qstat.xsd';
const skip = existsSync(SCHEMA) ? (missingTools('xmllint') ?? false) : 'no schema of qstat here';

const element = (name: string, type: string): string => `<xs:element name="${name}" type="xs:${type}" minOccurs="0"/>`;

function changed(text: string, from: RegExp, to: string): string {
  assert.match(text, from);
  return text.replace(from, to);
}

/**
 * Grid Engine's schema, changed to what its own client prints: no namespace, `full_job_name` before the parallel
 * environment, values as the text of their elements, and the reserved slots after the used ones.
 */
function schemaOfClient(): string {
  let text = changed(readFileSync(SCHEMA, 'utf8'), /\s(?:targetNamespace|xmlns)="[^"]*"/g, '');
  const [reserved, used, pe] = ['slots_resv', 'slots_used', 'requested_pe'].map(
    (name) => new RegExp(`<xs:element name="${name}"[^>]*/>`),
  );
  assert.ok(reserved && used && pe);
  text = changed(text, reserved, '');
  text = changed(text, used, element('slots_used', 'unsignedInt') + element('slots_resv', 'unsignedInt'));
  text = changed(text, pe, `${element('full_job_name', 'string')}$&`);
  text = changed(text, /name="(?:resource|request|granted_pe|requested_pe)_t"/g, '$& mixed="true"');
  const path = join(temporaryDirectory(), 'qstat.xsd');
  writeFileSync(path, text);
  return path;
}

function assertValid(schema: string, xml: string, what: string): void {
  const { status, stderr } = spawnSync('xmllint', ['--noout', '--schema', schema, '-'], {
    input: xml,
    encoding: 'utf8',
  });
  assert.equal(status, 0, `${what}: ${stderr}`);
}

it("live --xml is valid by Grid Engine's schema, as far as qstat's own output is", { skip }, async () => {
  const schema = schemaOfClient();
  const recorded = join(packageRoot(), 'test', 'gridengine', 'fixtures', '8.1.9');
  for (const name of ['busy.qstat-r', 'busy.qstat-f-F', 'host-down.qstat-r'])
    assertValid(schema, readFileSync(join(recorded, `${name}.xml`), 'utf8'), name);
  for (const words of [['live'], ['live', '--pending'], ['live', '--full', '--pending']]) {
    const terminal = fakeTerminal({ now: () => new Date(AT + 3000) });
    const args = [...words, '--xml', '--config', '/dev/null'];
    await runProgram(args, '1.2.3', terminal, { sources: fakeLiveSources() });
    assertValid(schema, terminal.output(), words.join(' '));
  }
});
