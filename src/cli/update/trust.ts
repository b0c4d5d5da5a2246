import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { getAsset, isSea } from 'node:sea';

/** Keys whose signature is believed. One place may hold several, so that a key can be replaced by the next. */
export interface TrustedKey {
  readonly key: KeyObject;
  /** For people: the beginning of the sha256 of its SubjectPublicKeyInfo. */
  readonly id: string;
}

/** The public keys (PEM) that the build put into the executable; none from source. */
export function builtInKeys(): string {
  if (!isSea()) return '';
  try {
    return getAsset(KEYS_ASSET, 'utf8');
  } catch {
    return '';
  }
}

/** As `npm run binary -- --public-key` names it. */
const KEYS_ASSET = 'trust.pem';

/**
 * Every public key in a text, with other text between them. `why` follows the name of where it is from; a private key
 * there is a mistake that is told.
 */
export function readKeys(
  pem: string,
):
  | { readonly ok: true; readonly keys: readonly TrustedKey[] }
  | { readonly ok: false; readonly why: string } {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem))
    return {
      ok: false,
      why: 'holds a private key, which belongs on the machine that signs and nowhere else',
    };
  const blocks = pem.match(/-----BEGIN PUBLIC KEY-----[\s\S]+?-----END PUBLIC KEY-----/g);
  if (!blocks) return { ok: false, why: 'holds no public key in PEM form' };
  const keys: TrustedKey[] = [];
  for (const block of blocks) {
    let key: KeyObject;
    try {
      key = createPublicKey(block);
    } catch {
      return { ok: false, why: 'holds a damaged public key' };
    }
    if (key.asymmetricKeyType !== 'ed25519')
      return {
        ok: false,
        why: `holds a key of the kind ${key.asymmetricKeyType}; releases are signed with Ed25519`,
      };
    keys.push({ key, id: keyId(key) });
  }
  return { ok: true, keys };
}

export function keyId(key: KeyObject): string {
  const spki = key.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(spki).digest('hex').slice(0, 16);
}

/** Whose signature it is. `signature`: the 64 bytes as they are. */
export function signerOf(
  signed: Uint8Array,
  signature: Uint8Array,
  keys: readonly TrustedKey[],
): TrustedKey | undefined {
  if (signature.byteLength !== SIGNATURE_BYTES) return undefined;
  return keys.find(({ key }) => verify(null, signed, key, signature));
}

export const SIGNATURE_BYTES = 64;
