import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { categoryRequests } from '../../src/gridengine/category-requests';
import { readSubmission, submittedCommand, withoutSecrets, type Submission } from '../../src/gridengine/qsub-options';

const read = (words: string, script = ''): Submission => readSubmission(words.split(' '), () => Buffer.from(script));

describe('readSubmission', () => {
  it('reads the options in a script', () => {
    const script = `#!/bin/sh
#$ -N "align reads" -cwd -V
#$ -pe smp 4
#$ -l h_vmem=4G,h_rt=3600 -q long.q@node1
  #$ -N indented
#$ -P genome
# $ -N spaced
echo '#$ -N late'
`;
    assert.deepEqual(read('dir/sim.sh', script), {
      jobName: 'align reads',
      pe: 'smp',
      slots: 4,
      project: 'genome',
      queue: 'long.q',
      requests: '-hard -scope global -l h_vmem=4G,h_rt=3600',
      command: 'dir/sim.sh',
      script: Buffer.from(script),
      directory: '.',
    });
    assert.equal(read('dir/sim.sh').jobName, 'sim.sh');
  });

  it("prefers options of the command line, up to the script's name, to options in the script", () => {
    const script = '#$ -N inside -pe mpi 8 -l h_vmem=1G,mem=2G\n';
    const given = read('-l h_vmem=2G -soft -l arch=x -N out -binding env linear:1 -sync y sim.sh -N argument', script);
    assert.deepEqual([given.jobName, given.pe, given.slots], ['out', 'mpi', 8]);
    assert.deepEqual(categoryRequests(given.requests), [
      { name: 'h_vmem', text: '2G' },
      { name: 'mem', text: '2G' },
    ]);
  });

  it('tells requests for master or slave tasks from requests for every slot', () => {
    const given = read('-pe mpi 8 -scope slave -l h_vmem=2G sim.sh', '#$ -l h_rt=60 -scope master -l mem=4G\n');
    assert.equal(given.requests, '-scope slave -l h_vmem=2G -hard -scope global -l h_rt=60 -scope master -l mem=4G');
    assert.deepEqual(categoryRequests(given.requests), [{ name: 'h_rt', text: '60' }]);
  });

  it('reads no script where a command is submitted, and lines with the prefix of -C', () => {
    const never = (): Buffer => assert.fail('read');
    assert.equal(readSubmission(['-b', 'y', '/usr/bin/sort'], never).jobName, 'sort');
    assert.equal(readSubmission(['-N', 'x'], never).jobName, 'x');
    for (const words of [[], ['-'], ['--', '-N', 'x']]) assert.equal(readSubmission(words, never).jobName, 'STDIN');
    assert.equal(read('-C #PBS sim.sh', '#PBS -N other\n#$ -N own\n').jobName, 'other');
    assert.deepEqual(readSubmission(['-C', '', 'sim.sh'], () => Buffer.from('#$ -N own\n')).jobName, 'sim.sh');
  });

  it('reads the working directory: the last of -cwd and -wd counts', () => {
    assert.equal(read('sim.sh').directory, null);
    assert.equal(read('-wd /data -cwd sim.sh').directory, '.');
    assert.equal(read('-wd /data sim.sh', '#$ -cwd\n').directory, '/data');
  });

  it('returns null where there is no single number of slots or queue', () => {
    assert.equal(read('-pe mpi 4-8 x').slots, null);
    assert.equal(read('-pe mpi').slots, null);
    assert.equal(read('x').slots, 1);
    for (const queue of ['a.q,b.q', '*.q', '!a.q', '@group', 'all.q@a,b.q@b'])
      assert.equal(read(`-q ${queue} x`).queue, null);
  });

  it('reads any script without an error', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '#$',
        ' ',
        '\n',
        '-',
        '-l',
        '-pe',
        '-N',
        '"',
        "'",
        '-binding',
        'env',
        '-soft',
        '-scope',
        '__proto__',
        '\0',
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const { slots, requests } = readSubmission(['-q', ...pieces, 'sim.sh'], () => Buffer.from(pieces.join('')));
        assert.ok(slots === null || slots > 0);
        categoryRequests(requests);
      }),
    );
  });
});

describe('withoutSecrets', () => {
  it('keeps the options, but not the values of variables or the arguments', () => {
    const pairs: readonly (readonly [string, string])[] = [
      ['qsub -cwd -N arr -t 1-4:1 -tc 1 -l h_rt=600 job.sh', 'qsub -cwd -N arr -t 1-4:1 -tc 1 -l h_rt=600 job.sh'],
      [
        "qsub -v NAP=400,A=b,HOME -pe make 2 /home/a/job.sh x 'y z'",
        'qsub -v NAP,A,HOME -pe make 2 /home/a/job.sh ...',
      ],
      ["qsub -N 'two words' -b y sleep 60", "qsub -N 'two words' -b y sleep ..."],
      ["qsub -v 'KEY=se cret' -b y tool --password=secret", 'qsub -v KEY -b y tool ...'],
      ['qsub -v KEY="se cret,B=secret" sim.sh', 'qsub -v KEY,B sim.sh'],
      ["qsub -v KEY='se cret", 'qsub ...'],
      [`qsub -v KEY=a" secret" sim.sh`, 'qsub ...'],
      ['qsub -V -terse', 'qsub -V -terse'],
      ['qsub -v A=1 -- --token s3cret', 'qsub -v A -- ...'],
      ['qsub -b y -- mysql -ps3cret', 'qsub -b y -- ...'],
      ['qsub -N x -', 'qsub -N x -'],
    ];
    for (const [line, kept] of pairs) assert.equal(withoutSecrets(line), kept);
  });

  it('lets no value through, however it is quoted', () => {
    const value = fc.stringMatching(/^[A-Za-z0-9=\\$-]{0,20}$/).map((text) => `${text}secret`);
    const quoted = fc.stringMatching(/^[A-Za-z0-9 =\\$-]{0,20}$/).map((text) => `'${text}secret'`);
    fc.assert(
      fc.property(fc.oneof(value, quoted), fc.constantFrom('', "it's", 'a"b'), (text, other) => {
        const kept = withoutSecrets(`qsub -v KEY=${text} -N sim run.sh ${other} ${text}`);
        assert.ok(kept.startsWith('qsub ') && !kept.includes('secret'), kept);
      }),
    );
  });
});

describe('submittedCommand', () => {
  it('returns the script or command as it was written, or null', () => {
    assert.equal(
      submittedCommand(withoutSecrets("qsub -cwd -N x -l h_rt=600 'my jobs/sim.sh' secret")),
      'my jobs/sim.sh',
    );
    assert.equal(submittedCommand(withoutSecrets('qsub -b y sleep 60')), 'sleep');
    assert.equal(submittedCommand(withoutSecrets('qlogin -l h_rt=600')), null);
    assert.equal(submittedCommand(withoutSecrets('qsub -N x -- 5')), null);
    assert.equal(submittedCommand(withoutSecrets('qsub -N a"b sim.sh')), null, 'unknown quotes');
  });
});
