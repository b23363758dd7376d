import { readFileSync } from 'node:fs';
import { codeOf } from '../../base/error-code';
import { StoreError } from '../store-error';

/** Where systems keep the certificates that they trust, as one file. */
const SYSTEMS = [
  '/etc/ssl/certs/ca-certificates.crt', // Debian, Ubuntu, Arch
  '/etc/pki/tls/certs/ca-bundle.crt', // Red Hat and its like
  '/etc/ssl/ca-bundle.pem', // SUSE
  '/etc/ssl/cert.pem', // Alpine
] as const;

function contents(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** The CAs that this system trusts (PEM); null: it keeps them elsewhere, and Node's own must suffice. */
export function systemCertificates(): string | null {
  for (const path of SYSTEMS) {
    const text = contents(path);
    if (text !== null) return text;
  }
  return null;
}

/** The CAs of the file that a location names (PEM). Throws StoreError; `location`: for its message. */
export function certificatesIn(path: string, location: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = codeOf(error);
    const hint = 'let everybody read it, or correct "accounting"';
    throw new StoreError(location, `its sslrootcert ${path} can't be read (${code})`, hint, false, error);
  }
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw new StoreError(location, `its sslrootcert ${path} holds no certificate`, 'put the CA there as PEM', false);
}
