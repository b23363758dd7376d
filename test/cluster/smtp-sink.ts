import { SMTPServer } from 'smtp-server';

/** `node smtp-sink.js PORT`: an SMTP server on this host that prints "ready", then each mail as a line of JSON. */
const server = new SMTPServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  disableReverseLookup: true,
  onData: (stream, session, callback) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const to = session.envelope.rcptTo.map(({ address }) => address);
      process.stdout.write(`${JSON.stringify({ to, raw: Buffer.concat(chunks).toString('latin1') })}\n`);
      callback(null);
    });
  },
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write('ready\n'));
